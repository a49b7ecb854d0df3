"""Test that names, docstrings, comments, messages and docs use the words of docs/glossary.md."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from pathlib import Path

import pytest

from tests.conftest import ROOT

# Words of the first releases that nobody outside the project used, with the ones to use instead.
BANNED = {
    r"witness(es)?": "replica",
    r"stand-?ins?|stands? in for": "stub",
    r"canary": "self-test",
    r"intruders?": "escape attempts",
    r"charged?|charging": "deduct, already deducted",
    r"handed in|hand-?ins?": "submitted, submission",
    r"learnt? by heart": "overfit one batch",
    r"go(es)? side by side": "transpose, reshape",
    r"strangers?": "not in the sheet",
    r"laid over": "applied",
    r"unwritten(?=\s)": "not implemented",
    r"what it is told": "diagnosis, cause",
    r"by heart": "overfit one batch",
    r"output maps?|maps? back to d": "projection, down-projection",
    r"side by side": "concatenated",
    r"(at|each|every|last|later) places?": "position",
    r"scale the start": "residual scaling",
    r"first loss(es)?": "initial loss",
    r"last LayerNorm": "final LayerNorm",
    r"hands? over": "passes, outputs",
    r"writ(es?|ten) into the stream": "add to the residual stream",
    r"all else": "everything else",
    r"not as it should be": "name the fault",
}
# "A crash is no grade": say what it is, or what does not happen.
NEGATION = re.compile(r"(?<!there )\b(is|are|was|were) no (?!longer\b|more\b|less\b|other\b|one\b)\w+", re.IGNORECASE)
OPENINGS = re.compile(r"^(What|Whatever|Whether|Where|Who|Whoever|Whose|Which)\b(?!.*\?$)")
WORDS = {re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE): instead for pattern, instead in BANNED.items()}
NAMES = {
    "told",
    "tell",
    "held",
    "gently",
    "under",
    "beside",
    "witness",
    "judged",
    "charged",
    "canary",
    "handed",
    "alone",
    "made",
    "rendered",
    "drawn",
}
# The handout's template holds the prose of the README and the notebook that students get.
FOR_STUDENTS = [
    ROOT / "bundle" / "README.md",
    ROOT / "reference" / "answers.md",
    ROOT / "reference" / "step-05.md.jinja",
]
DOCS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *FOR_STUDENTS])
LISTS = {"glossary.md"}  # it lists the words not to use


def sources() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "autograder", "reference"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / name for name in listed.stdout.split() if name.endswith(".py") and (ROOT / name).exists()]


def place(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def prose(path: Path) -> list[tuple[int, str]]:
    """Return the comments and strings of a Python file, or the lines of a page, with their line numbers."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        return list(enumerate(re.sub(r"`[^`\n]*`", "``", text).splitlines(), 1))
    return [
        (token.start[0], re.sub(r"``[^`]*``", "``", token.string))
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type in (tokenize.COMMENT, tokenize.STRING)
    ]


@pytest.mark.parametrize("path", [*sources(), *DOCS], ids=lambda path: str(path.relative_to(ROOT)))
def test_no_banned_word_is_written(path: Path) -> None:
    if path.name in LISTS:
        return
    wrong = []
    for line, text in prose(path):
        wrong += [
            f"{place(path, line)}: {m[0]!r}: say {instead}" for p, instead in WORDS.items() if (m := p.search(text))
        ]
        wrong += [f"{place(path, line)}: {m[0]!r}: negate the verb" for m in NEGATION.finditer(text)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_docstrings_do_not_open_with_a_relative(path: Path) -> None:
    wrong = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
            said = (ast.get_docstring(node) or "").split("\n")[0]
            if OPENINGS.match(said):
                wrong.append(f"{place(path, getattr(node, 'lineno', 1))}: {said}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", FOR_STUDENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_headings_do_not_open_with_a_relative(path: Path) -> None:
    headings = re.findall(r"^#+ (?:[\d.]+ )?(.+)$", path.read_text("utf-8"), re.MULTILINE)
    assert not [heading for heading in headings if OPENINGS.match(heading)]


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_names_are_verbs_or_nouns(path: Path) -> None:
    wrong = [
        f"{place(path, node.lineno)}: {node.name}"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name.strip("_") in NAMES
    ]
    assert not wrong, "\n".join(wrong)
