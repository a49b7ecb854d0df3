"""Read one file of the bank: a submission with its expected result at the top.

    # /// bank
    # about = "MLP: hidden width 2d instead of 4d"
    # facts = "M36"
    # extends = "reference"          the submission is reference/gpt.py followed by this text: later definitions win
    # names = ["mlp_width"]          the mistakes that must be named in the classes' own criteria, and no others
    # also = ["sizes_hard_coded"]         those that must be named in other criteria only
    # unnamed = "why"                in a file of mistakes/ for which nothing is named
    # [loses]                        every check outside the bonus that does not pass, and its status
    # "parameters.total" = "failed"
    # [bonus]                        bonus checks that do not pass; without a base, those implemented
    # ///

A line ``#: file head.py`` starts the text of another file; the text before the first such line is gpt.py. Without a
paper.py or verify.py, the reference's is used.

A file may also extend "stub" (student/), or another file of the bank, such as "mistakes/mlp_relu". Instead of
[loses], the header may say ``like = "mistakes/mlp_relu"``: the submission deserves exactly the result of that file
(``like = "reference"``: full marks), except for checks that the header lists anyway. Most attacks have this form: a
wrong model that must gain nothing from the attack.

In an attack, ``/guarded`` stands for a folder that no submission may read or change, and ``GUARDED_PORT`` for a port
that none may reach (tests/test_attacks.py). An attack reports its own success on lines that begin with GAINED.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BANK = ROOT / "tests" / "bank"
REFERENCE = {name: (ROOT / "reference" / name).read_bytes() for name in ("gpt.py", "paper.py", "verify.py")}
STUB = {name: (ROOT / "student" / name).read_bytes() for name in ("gpt.py", "paper.py", "verify.py")}
BONUS = ("bonus.weight_tying", "bonus.batched_heads", "bonus.qk_ov")
HEADER = re.compile(rb"^# /// bank\r?\n(?P<toml>(?:#.*\r?\n)*?)# ///\r?$", re.MULTILINE)
SECTION = re.compile(rb"^#: file (\S+\.py)\r?\n", re.MULTILINE)
KEYS = {"about", "facts", "extends", "extends_paper", "like", "names", "also", "unnamed", "loses", "bonus"}


@dataclass(frozen=True)
class BankFile:
    """A submission of the bank, and its expected result."""

    path: Path
    about: str
    files: dict[str, bytes]
    names: list[str]  # the file's own mistake comes first if there are several
    also: list[str]
    unnamed: str
    loses: dict[str, str]
    bonus: dict[str, str]

    def write(self, folder: Path, stands_for: Sequence[tuple[str, str]] = ()) -> Path:
        """Write the submission as a folder, with these words of its text replaced; return the path."""
        for name, data in self.files.items():
            for word, value in stands_for:
                data = data.replace(word.encode(), value.encode())
            (folder / name).write_bytes(data)
        return folder


def load(path: Path) -> BankFile:
    """Return the bank file at ``path``. Raises ValueError if its header is not as described above."""
    data = path.read_bytes()
    header = HEADER.search(data)
    if header is None:
        raise ValueError(f"{path}: no '# /// bank' block at the top")
    lines = header["toml"].decode().splitlines()
    facts = tomllib.loads("\n".join(line.removeprefix("#").strip() for line in lines))
    if set(facts) - KEYS or "about" not in facts:
        raise ValueError(f"{path}: unknown keys {set(facts) - KEYS}, or no 'about'")
    base = _base(facts.get("extends"))
    # If a file extends another, its header is removed, so that the other's text comes first.
    own = data[header.end() :].lstrip(b"\r\n") if base else data
    first, *rest = SECTION.split(own)
    files = dict(zip((name.decode() for name in rest[::2]), rest[1::2], strict=True))
    if facts.get("extends_paper"):
        files["paper.py"] = REFERENCE["paper.py"] + b"\n\n" + files["paper.py"]
    like = load(BANK / f"{facts['like']}.py") if facts.get("like", "reference") != "reference" else None
    bonus = dict.fromkeys(BONUS, "passed" if base else "not_implemented")
    loses = (like.loses if like else {}) | facts.get("loses", {})
    return BankFile(
        path=path,
        about=facts["about"],
        files={name: REFERENCE[name] for name in ("paper.py", "verify.py")}
        | base
        | files
        | {"gpt.py": base.get("gpt.py", b"") + first},
        names=facts.get("names", like.names if like else []),
        also=facts.get("also", like.also if like else []),
        unnamed=facts.get("unnamed", ""),
        loses={check: status for check, status in loses.items() if status != "passed"},
        bonus=(like.bonus if like else bonus) | facts.get("bonus", {}),
    )


def _base(extends: str | None) -> dict[str, bytes]:
    """Return the extended files, with blank lines after gpt.py."""
    if extends is None:
        return {}
    files = {"reference": REFERENCE, "stub": STUB}.get(extends) or load(BANK / f"{extends}.py").files
    return files | {"gpt.py": files["gpt.py"] + b"\n\n"}


def paths(*folders: str) -> list[Path]:
    """Return the bank's files in ``folders``, by default all except attacks, which have their own tests."""
    return sorted(
        path for folder in folders or ("variants", "mistakes", "broken") for path in (BANK / folder).glob("*.py")
    )
