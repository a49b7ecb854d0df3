"""Test how the student's verification suite is scored: which suites reject which models, and what that earns."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from autograder.assignment import ASSIGNMENT
from autograder.assignment.measure.verification import CALLS
from autograder.assignment.oracle import under_test
from autograder.assignment.oracle.wrong_models import RIGHT, WRONG_MODELS
from autograder.assignment.sizes import Dims
from autograder.course.gradebook.records import Student
from autograder.course.gradebook.results import StudentResult
from autograder.course.output.item_analysis import ItemAnalysis
from autograder.grading.report import Report
from autograder.sandbox.remote.client import Zygote
from tests import naive_suites
from tests.bank_file import REFERENCE
from tests.naive_suites import GOOD, HEADS, HELPERS, NAIVE

CHECKS = {
    "count_is_right": "verification.parameter_count",
    "is_causal": "verification.causality",
    "initial_loss_is_right": "verification.initial_loss",
    "shapes_are_right": "verification.shapes",
}
Score = Callable[..., "tuple[str, float, str]"]


@pytest.fixture(scope="module")
def matrix(zygote: Zygote) -> dict[str, dict[str, dict[str, bool | None]]]:
    """Return what each suite accepts, by function, suite, and model; correct models have no name."""
    found: dict[str, dict[str, dict[str, bool | None]]] = {}
    for function, suites in NAIVE.items():
        for name in (*suites, GOOD):
            trials = naive_suites.try_suite(zygote, function, naive_suites.write(function, name), seed=1)
            accepts = {trial.row.name: trial.accepts for trial in trials if trial.row.name}
            right = all(trial.accepts for trial in trials if not trial.row.name)
            found.setdefault(function, {})[name] = {**accepts, "": right}
    return found


@pytest.mark.parametrize("function", CALLS)
def test_each_wrong_model_is_accepted_by_some_suite_and_rejected_by_the_good_one(
    matrix: dict[str, dict[str, dict[str, bool | None]]], function: str
) -> None:
    suites = matrix[function]
    wrong = [row.name for row in WRONG_MODELS if row.function == function]
    assert len(wrong) == len(set(wrong)) >= 10
    naive = {name: accepts for name, accepts in suites.items() if name not in (GOOD, "True") and accepts[""]}
    for model in wrong:
        assert suites[GOOD][model] is False
        assert any(accepts[model] for accepts in naive.values()), model
    assert suites[GOOD][""]
    assert not suites["False"][""]


def test_the_names_and_words_of_rows_differ() -> None:
    names = [row.name for row in WRONG_MODELS]
    assert len(set(names)) == len(names)
    for function in CALLS:
        told = [row.told for row in WRONG_MODELS if row.function == function]
        assert len(set(told)) == len(told)


@pytest.fixture
def score(grade: Callable[..., Report], tmp_path: Path) -> Score:
    """Grade a suite with this body of a function, or text of verify.py; return status, score and message."""

    def score(
        function: str, body: str = "", text: str = "", paper: bytes = REFERENCE["paper.py"]
    ) -> tuple[str, float, str]:
        verify = text or f"{HELPERS}\n{HEADS[function]}\n    {body}\n"
        for name, data in (REFERENCE | {"verify.py": verify.encode(), "paper.py": paper}).items():
            (tmp_path / name).write_bytes(data)
        report = grade(tmp_path, only="verification")
        (check,) = (check for check in report.checks if check.id == CHECKS[function])
        return check.status, check.score, f"{check.message} {check.hint}"

    return score


@pytest.mark.parametrize(
    ("function", "body", "status", "points", "words"),
    [
        ("is_causal", "return True", "failed", 0, "rejects 0 of 14"),
        ("is_causal", "return False", "failed", 0, "rejects 2 of 2 correct models"),
        ("is_causal", NAIVE["is_causal"]["position 0"], "partial", 1.5, "in which only the last token leaks"),
        ("is_causal", NAIVE["is_causal"]["nan"], "partial", 1.5, "whose logits are nan"),
        ("is_causal", "assert False", "failed", 0, "rejects 2 of 2"),
        ("is_causal", "return None", "failed", 0, "returned None"),
        ("is_causal", "return 'yes'", "failed", 0, "returned 'yes'"),
        ("is_causal", "return 1 / 0", "failed", 0, "ZeroDivisionError"),
        ("is_causal", "raise NotImplementedError()", "not_implemented", 0, "is_causal"),
        ("is_causal", "while True: pass", "timeout", 0, "no result after"),
        ("is_causal", "model.no_such_name", "failed", 0, "no_such_name"),
        ("shapes_are_right", NAIVE["shapes_are_right"]["entries"], "partial", 0.5, "rejects 5 of 16"),
        ("initial_loss_is_right", NAIVE["initial_loss_is_right"]["PyTorch's only"], "failed", 0, "GPT-2's"),
    ],
)  # fmt: skip
def test_the_score_is_the_share_of_wrong_models_rejected(
    score: Score, function: str, body: str, status: str, points: float, words: str
) -> None:
    found, worth, message = score(function, body)
    assert (found, worth) == (status, points), message
    assert words in message


def test_an_assertion_rejects_and_an_exception_does_not(score: Score) -> None:
    good = REFERENCE["verify.py"].decode()
    asserting = good.replace("                    return False\n", "                    assert False\n")
    assert score("is_causal", text=asserting)[:2] == ("passed", 2)
    raising = good.replace("                    return False\n", "                    raise KeyError('leak')\n")
    status, points, message = score("is_causal", text=raising)
    assert (status, points) == ("failed", 0)
    assert "it raised KeyError; it should return False" in message


@pytest.mark.parametrize("own", ["return {'total': 1}", "raise NotImplementedError()", "return 1 / 0", "return ("])
def test_a_wrong_formula_costs_nothing_here(score: Score, own: str) -> None:
    paper = REFERENCE["paper.py"] + f"\ndef parameter_count(V, T_max, d, L):\n    {own}\n".encode()
    paper += b"\ndef expected_initial_loss(V, d, std):\n    return 7.0\n"
    good = REFERENCE["verify.py"].decode()
    for function, name in (("count_is_right", "parameter_count"), ("initial_loss_is_right", "expected_initial_loss")):
        status, points, message = score(function, text=good, paper=paper)
        assert (status, points) == ("passed", 2)
        assert re.search(f"with a correct .*{name}.* in place of yours", message)


def test_models_are_used_as_real_ones(score: Score) -> None:
    """Gradients, copies, other precisions, written parameters and keyword arguments work as for any model."""
    body = """
    import copy
    idx, targets = torch.randint(V, (2, 3, 5))
    logits, loss = model(idx=idx, targets=targets)
    loss.backward()
    gradients = {name: p.grad for name, p in model.named_parameters()}
    assert all(g is not None and torch.isfinite(g).all() for g in gradients.values())
    name, p = max(model.named_parameters(), key=lambda pair: float(gradients[pair[0]].abs().max()))
    at = gradients[name].abs().argmax()
    moved = copy.deepcopy(model).double()
    with torch.no_grad():
        moved.get_parameter(name).view(-1)[at] += 1e-4
        slope = (moved(idx, targets)[1] - model.double()(idx, targets)[1]) / 1e-4
    assert moved(idx).dtype == torch.float64
    assert torch.allclose(slope.float(), gradients[name].view(-1)[at].float(), rtol=0.05)
    model.load_state_dict({key: torch.zeros_like(value) for key, value in model.state_dict().items()})
    assert (model(idx) == 0).all()
    try:
        model(torch.zeros(1, T_max + 1, dtype=torch.long))
    except RuntimeError:
        return True
    """.strip()
    status, _, message = score("is_causal", body)
    assert status in ("failed", "partial"), message
    assert "none of the 2 correct ones" in message, message


def test_the_layouts_hold_the_same_numbers() -> None:
    n = Dims(V=7, T_max=6, d=8, H=2, L=2)
    outputs = []
    for variant in ("", "batched"):
        model = under_test.ModelUnderTest(RIGHT, n, 3, 0, variant)
        flat = model.describe()["values"]
        idx = under_test.torch.arange(6)[None]
        outputs += [model.run(None, [idx], {}), model.run(flat, [idx], {})]
        assert len(flat) == 2 * 7 * 8 + 6 * 8 + 2 * (12 * 64 + 10 * 8) + 2 * 8
    assert all(np.allclose(outputs[0], one, atol=1e-5) for one in outputs)


def test_the_process_of_the_student_knows_no_names() -> None:
    """What it gets from the grader for a wrong model does not depend on which one that is, except where it must."""
    kept = [row for row in WRONG_MODELS if row.function in ("is_causal", "shapes_are_right")]
    n = Dims(V=7, T_max=6, d=8, H=2, L=1)
    right = under_test.ModelUnderTest(RIGHT, n, 3, 0, "").describe()
    for row in kept:
        found = under_test.ModelUnderTest(row, n, 3, 0, "").describe()
        assert found["shapes"] == right["shapes"]
        assert found["frozen"] == right["frozen"] == []
        assert under_test.torch.equal(found["values"], right["values"])


def test_a_course_shows_which_models_whose_test_accepts(grade: Callable[..., Report], tmp_path: Path) -> None:
    analysis = ItemAnalysis()
    for student, name in (("ada", GOOD), ("bob", "position 0"), ("cyd", "one row")):
        folder = tmp_path / student
        folder.mkdir()
        for file, data in (REFERENCE | {"verify.py": naive_suites.write("is_causal", name)}).items():
            (folder / file).write_bytes(data)
        report = grade(folder, only="verification")
        result = StudentResult(Student(1, student, student, True), None, report.checks, score=report.score)
        analysis.add(result, student)
        analysis.add_tests(report, student)
    (item,) = (item for item in analysis.checks if item.id == CHECKS["is_causal"])
    assert item.tests == 3
    assert item.models[0] == ("second_row_leaks", ["bob", "cyd"])
    assert dict(item.models)["no_mask"] == []


def test_no_contract_without_calls() -> None:
    asked = {entry.name for entry in ASSIGNMENT.contract.definitions if entry.module == "verify"}
    assert asked == CALLS.keys() == HEADS.keys()
