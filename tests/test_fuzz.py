"""Grade a few damaged submissions, the same ones each time; ``python -m tests.fuzz`` grades any number of others."""

from __future__ import annotations

import pytest

from tests import fuzz


def test_no_damaged_submission_is_an_error_of_the_grader(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.run(count=30, seed=1) == []
    ends = capsys.readouterr().out
    assert "graded" in ends
    assert "refused" in ends


def test_no_plausible_lie_is_an_error_of_the_grader(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.run(count=6, seed=5, kind="lies") == []
    assert capsys.readouterr().out == "lies graded: 6\n"


def test_a_case_depends_on_seed_and_number_alone() -> None:
    sources = [{"gpt.py": b"class GPT:\n    pass\n" * 20}]
    data = [fuzz.Case(seed, 5).damaged(sources[0]["gpt.py"], sources) for seed in (1, 1, 2)]
    assert data[0] == data[1] != data[2]
