"""The rubric's switch for errors carried forward; tests/bank/broken has the submissions that profit from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.assignment import ASSIGNMENT
from autograder.assignment.measure.carry_forward import PARTS, read_parts
from autograder.grading import rubric, suite
from autograder.sandbox.remote.client import Zygote
from autograder.submission.read import read_submission
from tests import bank_file


@pytest.mark.parametrize(("carry_forward", "status"), [(True, "passed"), (False, "failed")])
def test_the_rubric_switches_it_off(tmp_path: Path, zygote: Zygote, carry_forward: bool, status: str) -> None:
    bank_file.load(bank_file.BANK / "broken" / "mlp_raises.py").write(tmp_path)
    rows = rubric.load(ASSIGNMENT).model_copy(update={"carry_forward": carry_forward})
    report = suite.grade(ASSIGNMENT, read_submission(tmp_path, ASSIGNMENT), zygote, rows, only="shapes")
    assert {check.status for check in report.of("shapes")} == {status}
    said = "Measured with a correct MLP in place of yours."
    assert all(check.message.endswith(said) == carry_forward for check in report.of("shapes"))


def test_a_value_other_than_true_or_false_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rubric.toml"
    text = ASSIGNMENT.rubric.read_text("utf-8").replace("\ncarry_forward = true", '\ncarry_forward = "no"')
    path.write_text(text, "utf-8")
    with pytest.raises(rubric.RubricError, match=r"carry_forward is 'no'; write true or false"):
        rubric.load(ASSIGNMENT, path)


def test_each_part_is_sent_without_the_others() -> None:
    for name in PARTS:
        (source,) = read_parts([name]).values()
        assert source.startswith(f"class {name}(PermissiveModule):")
        assert source.count("\nclass ") == 0
