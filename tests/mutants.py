"""Grade mutants of the reference, or of a bank file, each with one mechanical change.

    python -m tests.mutants [--count 60] [--seed 0] [--of tests/bank/variants/NAME.py]

No row in the table of mistakes was written for these. It prints each change, the points it costs outside the bonus,
and the mistakes named; a mutant that loses nothing either is equivalent or reveals a gap.
"""

from __future__ import annotations

import argparse
import ast
import copy
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from autograder.assignment import ASSIGNMENT
from autograder.grading import rubric, suite
from autograder.sandbox.isolation.confine import Limits
from autograder.sandbox.remote.client import Zygote
from autograder.submission.read import read_submission
from tests import bank_file
from tests.conftest import ROOT

FILES = ("gpt.py", "head.py")
OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.MatMult: (),
}
COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.Lt: ast.LtE,
}
# Definitions that the classes' own checks do not cover.
LEFT_OUT = ("qk_ov", "BatchedMultiHeadAttention")


def mutations(node: ast.AST) -> Iterator[ast.AST]:
    """Return replacements for ``node``."""
    if isinstance(node, ast.BinOp):
        for other in OPERATORS.get(type(node.op), ()):
            yield ast.BinOp(node.left, other(), node.right)
        if isinstance(node.op, (ast.Add, ast.Mult, ast.Div)):
            yield node.left
        if isinstance(node.op, (ast.Add, ast.MatMult)):
            yield node.right
        if isinstance(node.op, ast.MatMult):
            yield ast.BinOp(node.right, node.op, node.left)
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield from (ast.Constant(value) for value in (node.value + 1, -node.value) if value != node.value)
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield ast.Constant(not node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node.operand
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        yield ast.Compare(node.left, [COMPARED[type(node.ops[0])]()], node.comparators)
    if isinstance(node, ast.Call) and node.args:
        yield node.args[0]  # without the call
        if len(node.args) == 2 and not node.keywords:
            yield ast.Call(node.func, node.args[::-1], [])
        for i in range(len(node.keywords)):
            yield ast.Call(node.func, node.args, node.keywords[:i] + node.keywords[i + 1 :])
    if isinstance(node, ast.Slice):
        if node.lower is not None:
            yield ast.Slice(None, node.lower, node.step)
        if node.upper is not None:
            yield ast.Slice(node.upper, None, node.step)


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """Yield (description, whole text) for every single change of ``source``."""
    tree = ast.parse(source)
    for definition in tree.body:
        if not isinstance(definition, (ast.ClassDef, ast.FunctionDef)) or definition.name in LEFT_OUT:
            continue
        asserted = {
            id(inner) for node in ast.walk(definition) if isinstance(node, ast.Assert) for inner in ast.walk(node)
        }
        for parent in ast.walk(definition):
            for field, value in ast.iter_fields(parent):
                for i, child in enumerate(value if isinstance(value, list) else [value]):
                    if not isinstance(child, ast.AST) or id(child) in asserted:
                        continue
                    for other in mutations(child):
                        if isinstance(value, list):
                            value[i] = other
                        else:
                            setattr(parent, field, other)
                        line = getattr(child, "lineno", getattr(parent, "lineno", 0))
                        before, after = ast.unparse(child), ast.unparse(other)
                        text = ast.unparse(ast.fix_missing_locations(copy.deepcopy(tree)))
                        yield f"{definition.name}, line {line}: {before} -> {after}", text
                    if isinstance(value, list):
                        value[i] = child
                    else:
                        setattr(parent, field, child)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--of", type=Path, metavar="FILE", help="a correct bank file, instead of the reference")
    given = parser.parse_args()
    rows = rubric.load(ASSIGNMENT)
    bonus = {criterion.id for criterion in rows.criteria if criterion.bonus}
    files = {name: (ROOT / "reference" / name).read_bytes() for name in ("gpt.py", "head.py", "paper.py", "verify.py")}
    files |= bank_file.load(given.of).files if given.of else {}
    found = [(name, *one) for name in FILES for one in mutants(files[name].decode())]
    chosen = random.Random(given.seed).sample(found, min(given.count, len(found)))
    caught = named = 0
    with Zygote(Limits(call_cpu=3.0, again_cpu=0.5)) as zygote:
        for name, change, text in chosen:
            with tempfile.TemporaryDirectory() as folder:
                for other, data in files.items():
                    Path(folder, other).write_bytes(data)
                Path(folder, name).write_text(text, "utf-8")
                report = suite.grade(ASSIGNMENT, read_submission(Path(folder), ASSIGNMENT), zygote, rows)
            lost = [check for check in report.checks if check.criterion not in bonus and check.score < check.max_score]
            causes = sorted({cause.mistake for check in lost for cause in check.diagnosis})
            caught, named = caught + bool(lost), named + bool(causes)
            print(f"{name} {change}")
            print(f"    -{sum(check.max_score - check.score for check in lost):g}  {', '.join(causes) or '-'}")
            for check in [check for check in lost if not causes][:3]:
                print(f"    {check.id}: {check.status}: {check.message[:200]}")
    print(f"\nseed {given.seed}: {len(chosen)} of {len(found)} mutants, {caught} caught, {named} named")


if __name__ == "__main__":
    main()
