"""Test that each class is graded in isolation, and that figures adapt to the course's sizes."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from autograder.assignment import ASSIGNMENT
from autograder.assignment.measure import parameter_usage
from autograder.assignment.oracle import parameter_count
from autograder.assignment.sizes import SIZES, Dims
from autograder.grading.report import Report
from autograder.grading.verdict import Failed
from autograder.sandbox.remote.client import Zygote
from autograder.sandbox.remote.student_code import StudentCode
from autograder.submission.read import read_submission
from tests import bank_file
from tests.conftest import ROOT

Grade = Callable[..., Report]
OTHER = Dims(V=96, T_max=32, d=48, H=6, L=3)


def only(folder: Path, *names: str) -> Path:
    """Return the stub with the reference's definitions of ``names``."""
    stub = (ROOT / "student" / "gpt.py").read_text("utf-8")
    solution = (ROOT / "reference" / "gpt.py").read_text("utf-8")
    written = {
        node.name: ast.get_source_segment(solution, node)
        for node in ast.parse(solution).body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef))
    }
    shutil.copy(ROOT / "student" / "head.py", folder)
    (folder / "gpt.py").write_text("\n\n\n".join([stub, *(str(written[name]) for name in names)]), "utf-8")
    return folder


@pytest.mark.parametrize(
    ("name", "criterion"), [("MLP", "mlp"), ("Block", "block"), ("MultiHeadAttention", "attention")]
)
def test_a_class_alone_scores_the_whole_of_its_criterion(
    grade: Grade, tmp_path: Path, name: str, criterion: str
) -> None:
    report = grade(only(tmp_path, name))
    assert {check.status for check in report.of(criterion)} == {"passed"}, report.of(criterion)
    assert report.score == sum(check.max_score for check in report.of(criterion))


def test_the_model_alone_scores_what_is_about_it(grade: Grade, tmp_path: Path) -> None:
    report = grade(only(tmp_path, "GPT"))
    for criterion in ("model", "initial_loss", "generation"):
        assert {check.status for check in report.of(criterion)} == {"passed"}, report.of(criterion)


def test_all_figures_follow_another_course_configuration(tmp_path: Path) -> None:
    for name in ("autograder", "reference", "student"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    place = tmp_path / "autograder" / "assignment" / "sizes.py"
    course = ", ".join(f"{letter}={size}" for letter, size in SIZES.course.arguments().items())
    text = place.read_text("utf-8")
    assert text.count(f"course=Dims({course})") == 1
    place.write_text(text.replace(f"course=Dims({course})", f"course=Dims({OTHER})"), "utf-8")
    told = {}
    for name, points in (("reference", 100), ("student", 0)):
        command = [sys.executable, "-m", "autograder", "grade", name, "--json", f"{name}.json", "--all"]
        environment = {**os.environ, "COLUMNS": "80"}
        run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        report = json.loads((tmp_path / f"{name}.json").read_text("utf-8"))
        assert (report["score"], report["gradable"]) == (points, True), run.stdout
        told[name] = run.stdout
    assert f"{parameter_count.total(OTHER):,} parameters at the course configuration" in told["reference"]
    assert "ln 96 = 4.564" in told["reference"]
    old = [f"{parameter_count.total(SIZES.course):,}", "ln 65", "4.174"]
    assert not [figure for figure in old for text in told.values() if figure in text]


PADDED = """
class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up, self.down = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)
        self.pad = nn.Parameter(torch.zeros(4 * d * d + 2 * d))

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))
"""
PADDED_TABLE = """
class MLP(MLP):
    def __init__(self, d):
        super().__init__(d)
        self.up, self.down = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L):
        super().__init__(V, T_max, d, H, L)
        self.tok_emb = nn.Embedding(V + L * (4 * d + 2), d)
"""
HIDDEN = """
class MLP(MLP):
    def __init__(self, d):
        super().__init__(d)
        self.kept = [torch.randn(d, d)]

    def forward(self, x):
        return super().forward(x) + x @ self.kept[0]
"""
CONSTANT = """
class GPT(GPT):
    def forward(self, idx, targets=None):
        return torch.zeros(*idx.shape, self.tok_emb.num_embeddings)
"""
NOISE = CONSTANT.replace("zeros", "randn")
LOCKED = """
original = nn.Module.named_parameters


def locked(self):
    for name, value in original(self):
        yield name, nn.Parameter(value.detach().clone()) if name.startswith("blocks.0.mlp") else value


nn.Module.named_parameters = locked
"""
DROPOUT = """
class MLP(MLP):
    def forward(self, x):
        return F.dropout(super().forward(x), 0.1)
"""


def handle(zygote: Zygote, folder: Path, addition: str) -> StudentCode:
    """Return the reference with ``addition`` at its end, ready to be called."""
    shutil.copytree(ROOT / "reference", folder)
    with (folder / "gpt.py").open("a", encoding="utf-8") as file:
        file.write(addition)
    return StudentCode(zygote, read_submission(folder, ASSIGNMENT).files, ASSIGNMENT.contract)


@pytest.mark.parametrize("addition", [PADDED, PADDED_TABLE])
def test_parameters_that_only_fill_up_the_count_are_named(zygote: Zygote, tmp_path: Path, addition: str) -> None:
    n = SIZES.course
    student = handle(zygote, tmp_path / "work", addition)
    try:
        model = student.build("GPT", n.arguments())
        assert model.numel == parameter_count.total(n)
        with pytest.raises(Failed, match="affect any logit"):
            parameter_usage.require_used_parameters(student, model, n, np.random.default_rng(0))
    finally:
        student.close()


def test_every_parameter_of_the_reference_moves_the_logits(zygote: Zygote, tmp_path: Path) -> None:
    student = handle(zygote, tmp_path / "work", "")
    try:
        n = SIZES.course
        assert not parameter_usage.unused_parameters(student.build("GPT", n.arguments()), n, np.random.default_rng(0))
        assert parameter_usage.measure_claims(student, SIZES.small, np.random.default_rng(0)) == parameter_usage.Claims(
            steady=True
        )
        assert parameter_usage.has_formula_layout(student, student.build("GPT", SIZES.small.arguments()), SIZES.small)
    finally:
        student.close()


@pytest.mark.parametrize(
    ("addition", "logits", "parameters"),
    [
        (CONSTANT, "the logits do not", "the logits do not"),
        (NOISE, "the logits do not", "the logits do not"),
        (HIDDEN, "", "with different seeds"),
        (LOCKED, "don't keep", "don't keep"),
        (DROPOUT, "", ""),
    ],
    ids=["constant", "noise", "hidden", "locked", "dropout"],
)
def test_a_model_counts_only_if_its_logits_follow_its_parameters_alone(
    zygote: Zygote, tmp_path: Path, addition: str, logits: str, parameters: str
) -> None:
    student = handle(zygote, tmp_path / "work", addition)
    try:
        found = parameter_usage.measure_claims(student, SIZES.small, np.random.default_rng(0))
    finally:
        student.close()
    for said, expected in ((found.about_logits, logits), (found.about_parameters, parameters)):
        assert expected in said
        assert bool(expected) == bool(said)


@pytest.mark.parametrize("secret", [b"mistakes/norms_unbiased_std0", b"mistakes/norms_unbiased_std4"])
def test_a_norm_with_two_deviations_is_named_whatever_the_inputs(secret: bytes, grade: Grade, tmp_path: Path) -> None:
    # With an unbiased deviation, eps matters if a position's features are close together.
    entry = bank_file.load(bank_file.BANK / "mistakes" / "norms_unbiased_std.py")
    report = grade(entry.write(tmp_path), secret=secret)
    assert {check.id: check.status for check in report.checks if check.status != "passed"} == entry.loses
