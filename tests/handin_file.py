"""One hand-in of the bank: files as platforms and people deliver them, and what grading must say.

    about = "the work in a copy beside the file as given out"
    form = "folder"                              or "zip" or "file": how it is given to `grade`
    says = ["gpt.py: nothing is implemented", "gpt (1).py defines"]      words of the reason, if there is no score
    like = "reference"                           or: the files that are graded are those of the reference
    graded = ["gpt.py", "paper.py"]              or: their names, of which the work counts, whatever its score
    [files]
    "gpt.py" = "@stub/gpt.py"                    a file of the reference (@gpt.py), of the stubs, or given (@head.py)
    "gpt (1).py" = "@gpt.py"
    "notes.txt" = "any text"
    "work.zip" = { zip = { "gpt.py" = "@gpt.py" } }
    "work.tar.gz" = { tar = { "gpt.py" = "@gpt.py" } }
    "step-05.ipynb" = { notebook = ["@gpt.py", "@paper.py"] }
    "a.py" = { text = "# über", encoding = "cp1252" }
    "gpt.docx" = { hex = "504b0304" }

A text may be changed: ``{ text = "@gpt.py", replace = { "F.gelu" = "F.relu" }, before = "# mine" }``.
"""

from __future__ import annotations

import io
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.assignment import ASSIGNMENT
from autograder.submission import notebook
from tests import notebooks
from tests.bank_file import BANK, REFERENCE

HANDINS = sorted((BANK / "handins").glob("*.toml"))
HEAD = (ASSIGNMENT.handed_out / "head.py").read_bytes()
KEYS = {"about", "form", "says", "like", "graded", "files"}


@dataclass(frozen=True)
class HandIn:
    """A hand-in of the bank, and what grading must say."""

    name: str
    form: str
    files: dict[str, bytes]
    says: list[str]
    like: str
    graded: list[str]

    def write(self, folder: Path, name: str) -> Path:
        """Write it into ``folder`` as ``name``, and return its path."""
        if self.form == "file":
            ((file, data),) = self.files.items()
            path = folder / f"{name}.{file.partition('.')[2]}"
            path.write_bytes(data)
            return path
        if self.form == "zip":
            path = folder / f"{name}.zip"
            path.write_bytes(zip_files(self.files))
            return path
        for file, data in self.files.items():
            path = folder / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return folder / name


def load(path: Path) -> HandIn:
    """Read a hand-in. Raises ValueError if it is not as described above."""
    facts = tomllib.loads(path.read_text("utf-8"))
    if set(facts) - KEYS or not {"about", "files"} <= set(facts):
        raise ValueError(f"{path}: unknown keys {set(facts) - KEYS}, or no 'about' and 'files'")
    if sum(key in facts for key in ("says", "like", "graded")) != 1:
        raise ValueError(f"{path}: give one of 'says', 'like' and 'graded'")
    return HandIn(
        name=path.stem,
        form=facts.get("form", "folder"),
        files={name: make(value) for name, value in facts["files"].items()},
        says=facts.get("says", []),
        like=facts.get("like", ""),
        graded=facts.get("graded", []),
    )


def make(value: Any) -> bytes:
    """The bytes of a file that is described like this."""
    if isinstance(value, str):
        return _find_source(value)
    if "zip" in value:
        return zip_files({name: make(inner) for name, inner in value["zip"].items()})
    if "tar" in value:
        return tar_files({name: make(inner) for name, inner in value["tar"].items()})
    if "hex" in value:
        return bytes.fromhex(value["hex"])
    if "notebook" in value:
        texts = [_find_source(text).decode() for text in value["notebook"]]
        return notebook.write([cell for text in texts for cell in notebooks.cells_of(text)])
    text = _find_source(value["text"]).decode()
    for old, new in value.get("replace", {}).items():
        if old not in text:
            raise ValueError(f"{old!r} is not in the text")
        text = text.replace(old, new)
    return (value.get("before", "") + text).encode(value.get("encoding", "utf-8"))


def _find_source(text: str) -> bytes:
    if not text.startswith("@"):
        return text.encode()
    name = text[1:]
    if name.startswith("stub/"):
        return (ASSIGNMENT.stubs / name.removeprefix("stub/")).read_bytes()
    return HEAD if name == "head.py" else REFERENCE[name]


def zip_files(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def tar_files(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()
