"""One file of the bank: a submission with its expectation at the top.

    # /// bank
    # about = "MLP: hidden width 2d instead of 4d"
    # facts = "M36"
    # extends = "reference"          the submission is reference/gpt.py followed by this text: later definitions win
    # names = ["mlp_width"]          the mistakes that must be named in the classes' own criteria, and no others
    # [loses]                        every check outside the bonus that does not pass, and its status
    # "parameters.total" = "failed"
    # [bonus]                        bonus checks that do not pass; in a file that extends nothing, those not "missing"
    # ///

A line ``#: file head.py`` starts the text of another file; what stands before the first one is gpt.py. Without a
paper.py the reference's is taken.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BANK = ROOT / "tests" / "bank"
BONUS = ("bonus.weight_tying", "bonus.batched_heads", "bonus.qk_ov")
HEADER = re.compile(rb"^# /// bank\r?\n(?P<toml>(?:#.*\r?\n)*?)# ///\r?$", re.MULTILINE)
SECTION = re.compile(rb"^#: file (\S+\.py)\r?\n", re.MULTILINE)
KEYS = {"about", "facts", "extends", "extends_paper", "names", "loses", "bonus"}


@dataclass(frozen=True)
class BankFile:
    """A submission of the bank, and what grading it must give."""

    path: Path
    about: str
    files: dict[str, bytes]
    names: set[str]
    loses: dict[str, str]
    bonus: dict[str, str]

    def write(self, folder: Path) -> Path:
        """The submission as a folder; its path."""
        for name, data in self.files.items():
            (folder / name).write_bytes(data)
        return folder


def load(path: Path) -> BankFile:
    """The bank file at ``path``. Raises ValueError where its header is not as described above."""
    data = path.read_bytes()
    header = HEADER.search(data)
    if header is None:
        raise ValueError(f"{path}: no '# /// bank' block at the top")
    lines = header["toml"].decode().splitlines()
    facts = tomllib.loads("\n".join(line.removeprefix("#").strip() for line in lines))
    if set(facts) - KEYS or "about" not in facts:
        raise ValueError(f"{path}: unknown keys {set(facts) - KEYS}, or no 'about'")
    extends = facts.get("extends") == "reference"
    # A file that extends the reference keeps its header out, so that the text of reference/gpt.py comes first.
    own = data[header.end() :].lstrip(b"\r\n") if extends else data
    first, *rest = SECTION.split(own)
    files = {"gpt.py": first} | dict(zip((name.decode() for name in rest[::2]), rest[1::2], strict=True))
    reference = {name: (ROOT / "reference" / name).read_bytes() for name in ("gpt.py", "paper.py")}
    if extends:
        files["gpt.py"] = reference["gpt.py"] + b"\n\n" + first
    if facts.get("extends_paper"):
        files["paper.py"] = reference["paper.py"] + b"\n\n" + files["paper.py"]
    return BankFile(
        path=path,
        about=facts["about"],
        files={"paper.py": reference["paper.py"]} | files,
        names=set(facts.get("names", [])),
        loses=facts.get("loses", {}),
        bonus=dict.fromkeys(BONUS, "passed" if extends else "missing") | facts.get("bonus", {}),
    )


def paths(*folders: str) -> list[Path]:
    """The bank's files in ``folders``, or in all of them."""
    return sorted(
        path for folder in folders or ("variants", "mistakes", "broken") for path in (BANK / folder).glob("*.py")
    )
