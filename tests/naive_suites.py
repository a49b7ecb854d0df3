"""Verification suites that students might write, and what the grader's models say about them.

    python -m tests.naive_suites            print the kill matrix: which suite rejects which model

Each suite misunderstands something. GOOD is the reference's.
"""

from __future__ import annotations

import numpy as np

from autograder.assignment import ASSIGNMENT
from autograder.assignment.measure.verification import Trial, try_function
from autograder.assignment.oracle.client import Oracle
from autograder.assignment.oracle.wrong_models import WRONG_MODELS
from autograder.sandbox.remote.client import Zygote
from autograder.sandbox.remote.oracle_process import OracleProcess
from autograder.sandbox.remote.student_code import StudentCode
from tests.conftest import ROOT

GOOD = "reference"
HEADS = {
    "count_is_right": "def count_is_right(model, V, T_max, d, L):",
    "is_causal": "def is_causal(model, V, T_max):",
    "initial_loss_is_right": "def initial_loss_is_right(make_model, V, T_max, d):",
    "shapes_are_right": "def shapes_are_right(model, V, T_max, d, L):",
}
HELPERS = """
import math, torch
from paper import parameter_count, expected_initial_loss

def count(model, only_trainable=False):
    return sum(p.numel() for p in model.parameters() if p.requires_grad or not only_trainable)
def formula(V, T_max, d, L): return parameter_count(V, T_max, d, L)["total"]
def difference(model, V, T, t, B=1, until=None):
    idx = torch.randint(V, (B, T))
    changed = idx.clone()
    changed[:, t:until] = (changed[:, t:until] + 1) % V
    return (model(changed) - model(idx)).abs().detach()
def loss(make_model, V, T_max):
    return make_model()(*torch.randint(V, (2, 64, T_max)))[1].item()
"""
# Their bodies. All differ from the reference's in one idea.
NAIVE = {
    "count_is_right": {
        "True": "return True",
        "False": "return False",
        "the total only": "return count(model) == formula(V, T_max, d, L)",
        "trainable only": "return count(model, only_trainable=True) == formula(V, T_max, d, L)",
        "5% off": "return math.isclose(count(model), formula(V, T_max, d, L), rel_tol=0.05)",
        "too many": "return count(model) <= formula(V, T_max, d, L)",
        "too few": "return count(model) >= formula(V, T_max, d, L)",
        "course sizes": "return count(model) == 816640",
    },
    "is_causal": {
        "True": "return True",
        "False": "return False",
        "position 0": "return bool((difference(model, V, T_max, 1)[:, 0] == 0).all())",
        "last token": "return bool((difference(model, V, T_max, T_max - 1)[:, :-1] == 0).all())",
        "the middle": "return bool((difference(model, V, T_max, T_max // 2)[:, :T_max // 2] == 0).all())",
        "next token": "return all((difference(model, V, T_max, t, until=t + 1)[:, t - 1] == 0).all()"
        " for t in range(1, T_max))",
        "nan": "return not any((difference(model, V, T, t, 2)[:, :t] > 0).any()"
        " for T in range(2, T_max + 1) for t in range(1, T))",
        "0.001": "return all(difference(model, V, T, t, 2)[:, :t].max() < 1e-3"
        " for T in range(2, T_max + 1) for t in range(1, T))",
        "one row": "return all((difference(model, V, T, t)[:, :t] == 0).all()"
        " for T in range(2, T_max + 1) for t in range(1, T))",
        "full length": "return all((difference(model, V, T_max, t, 2)[:, :t] == 0).all() for t in range(1, T_max))",
        "below T_max": "return all((difference(model, V, T_max - 1, t, 2)[:, :t] == 0).all()"
        " for t in range(1, T_max - 1))",
        "the past": "return not bool((difference(model, V, T_max, 0, until=1)[:, -1] == 0).all())",
    },
    "initial_loss_is_right": {
        "True": "return True",
        "False": "return False",
        "not too high": "return all(loss(make_model, V, T_max) < math.log(V) + 0.25 for _ in range(3))",
        "not too low": "return all(loss(make_model, V, T_max) > math.log(V) - 0.05 for _ in range(3))",
        "one model": "return abs(loss(make_model, V, T_max) - math.log(V) - 0.1) < 0.15",
        "nan": "return not any(abs(loss(make_model, V, T_max) - math.log(V) - 0.1) > 0.15 for _ in range(3))",
        "any sign": "return all(abs(abs(loss(make_model, V, T_max)) - math.log(V) - 0.1) < 0.15 for _ in range(3))",
        "0.5 off": "return all(abs(loss(make_model, V, T_max) - math.log(V)) < 0.5 for _ in range(3))",
        "PyTorch's only": "return abs(loss(make_model, V, T_max) - expected_initial_loss(V, d, (3 * d)**-0.5)) < 0.05",
    },
    "shapes_are_right": {
        "True": "return True",
        "False": "return False",
        "one B and T": "return model(torch.randint(V, (2, 5))).shape == (2, 5, V)",
        "T_max only": "return all(model(torch.randint(V, (B, T_max))).shape == (B, T_max, V) for B in (1, 3))",
        "no targets": "return all(model(torch.randint(V, (B, T))).shape == (B, T, V)"
        " for B in (1, 3) for T in (1, 5, T_max))",
        "targets only": "return all(model(*torch.randint(V, (2, B, T)))[0].shape == (B, T, V)"
        " for B in (1, 3) for T in (1, 5, T_max))",
        "entries": "return all(model(torch.randint(V, (B, T))).numel() == B * T * V"
        " for B in (1, 3) for T in (1, 5, T_max))",
        "square": "return model(torch.randint(V, (5, 5))).shape == (5, 5, V)",
        "two axes": "return model(torch.randint(V, (3, 5))).shape[:2] == (3, 5)",
        "the last axis": "return model(torch.randint(V, (3, 5))).shape[-1] == V",
        "three axes": "return model(torch.randint(V, (3, 5))).dim() == 3",
    },
}


def write(function: str, name: str) -> bytes:
    """Return the verify.py of a suite."""
    if name == GOOD:
        return (ROOT / "reference" / "verify.py").read_bytes()
    return f"{HELPERS}\n{HEADS[function]}\n    {NAIVE[function][name]}\n".encode()


def try_suite(zygote: Zygote, function: str, verify: bytes, seed: int) -> list[Trial]:
    """Return the trials of one function in a suite of this text."""
    paper = (ROOT / "reference" / "paper.py").read_bytes()
    student = StudentCode(zygote, {"gpt.py": b"", "paper.py": paper, "verify.py": verify}, ASSIGNMENT.contract)
    oracle = Oracle(OracleProcess(zygote, ASSIGNMENT))
    try:
        return try_function(student, oracle, function, np.random.default_rng(seed))
    finally:
        student.close()


def main() -> None:
    with Zygote() as zygote:
        for function, suites in NAIVE.items():
            print(f"\n{function}: rejects right, and these wrong models")
            rows = [row.name for row in WRONG_MODELS if row.function == function]
            for name in (*suites, GOOD):
                trials = try_suite(zygote, function, write(function, name), 0)
                right = sum(trial.accepts is not True for trial in trials if not trial.row.name)
                rejects = {trial.row.name: trial.accepts is False for trial in trials if trial.row.name}
                missed = ", ".join(row for row in rows if not rejects[row])
                print(f"  {name:16} {right} of 4 | {sum(rejects.values()):2} of {len(rows)}  misses {missed or 'none'}")


if __name__ == "__main__":
    main()
