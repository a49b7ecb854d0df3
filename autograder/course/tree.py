"""An export as names and bytes, whether it is a folder or a zip file. Names in it are data, never paths."""

from __future__ import annotations

import io
import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder import notebook
from autograder.files import BadInput
from autograder.submission import LITTER, MAX_ZIP, UNREADABLE, cap

MAX_ENTRIES = 200_000  # of one export
LINK = stat.S_IFLNK << 16


class Unreadable(Exception):
    """A file of an export cannot be read; the message is one line."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of an export: its name as parts, and how to get its first bytes."""

    parts: tuple[str, ...]
    read: Callable[[int], bytes]
    link: bool = False

    @property
    def name(self) -> str:
        return self.parts[-1]

    @property
    def suffix(self) -> str:
        return os.path.splitext(self.name)[1].lower()


def entries(path: Path) -> list[Entry]:
    """The files of the export at ``path``, in the order of their names. Raises BadInput."""
    try:
        real = path.resolve(strict=True)
        found = list(_of_folder(real) if real.is_dir() else _of_zip(real))
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; name a folder of submissions or a downloaded archive") from None
    except UNREADABLE:
        raise BadInput(f"{path}: neither a folder nor a zip file that can be read; download it again") from None
    if len(found) > MAX_ENTRIES:
        raise BadInput(f"{path}: more than {MAX_ENTRIES} files; name the folder of the submissions alone")
    return sorted((entry for entry in found if not any(map(litter, entry.parts))), key=lambda entry: entry.parts)


def litter(name: str) -> bool:
    """What operating systems, editors and platforms leave beside the submissions."""
    return name.startswith(".") or name in LITTER


def unwrapped(found: list[Entry]) -> list[Entry]:
    """Without the one folder that archives often have around everything."""
    tops = {entry.parts[0] for entry in found}
    if len(tops) == 1 and all(len(entry.parts) > 2 for entry in found):
        return [Entry(entry.parts[1:], entry.read, entry.link) for entry in found]
    return found


def packed(found: list[Entry]) -> bytes:
    """These files as a zip file, links as links: what is read from it is checked where single submissions are."""
    buffer, total = io.BytesIO(), 0
    with zipfile.ZipFile(buffer, "w") as archive:
        for entry in found:
            data = b"" if entry.link else notebook.smaller(entry.name, entry.read(cap(entry.name)))
            total += len(data)
            if total > MAX_ZIP:
                raise Unreadable(f"more than {MAX_ZIP >> 20} MB; ask for the code alone")
            info = zipfile.ZipInfo("/".join(part.replace("\\", "_") for part in entry.parts))
            info.external_attr = LINK if entry.link else stat.S_IFREG << 16
            archive.writestr(info, data)
    return buffer.getvalue()


def _of_folder(root: Path) -> Iterator[Entry]:
    for folder, names, files in os.walk(root):
        names.sort()
        inside = Path(folder).relative_to(root).parts
        for name in sorted(files) + [name for name in names if os.path.islink(os.path.join(folder, name))]:
            path = os.path.join(folder, name)
            yield Entry((*inside, name), lambda cap, path=path: _bytes(path, cap), os.path.islink(path))  # type: ignore[misc]


def _bytes(path: str, cap: int) -> bytes:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Unreadable("not a regular file; ask for the file itself")
            return file.read(cap + 1)
    except OSError as error:
        raise Unreadable(f"{error.strerror}; make it readable") from None


def _of_zip(path: Path) -> Iterator[Entry]:
    archive = zipfile.ZipFile(path)
    for info in archive.infolist():
        parts = tuple(part for part in info.filename.replace("\\", "/").split("/") if part)
        if parts and not info.is_dir():
            yield Entry(
                parts,
                lambda cap, info=info: _member(archive, info, cap),  # type: ignore[misc]
                stat.S_ISLNK(info.external_attr >> 16),
            )


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, cap: int) -> bytes:
    try:
        with archive.open(info) as file:
            return file.read(cap + 1)
    except UNREADABLE:
        raise Unreadable("damaged or encrypted in the archive; download it again") from None
