"""Read an export, folder or zip file, as names and bytes. Names in it are data, never paths."""

from __future__ import annotations

import io
import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from autograder.core.errors import BadInput
from autograder.core.text import clean
from autograder.submission import notebook
from autograder.submission.read import LITTER, MAX_ZIP, UNREADABLE, get_size_limit

MAX_DEPTH = 8  # nested folders that are read; no layout has more
UNLISTED = "unlisted.py"  # stands for the contents of an unreadable folder
SURROGATE = re.compile("[\ud800-\udfff]")  # Python's form of a name byte that is not UTF-8
LINK = stat.S_IFLNK << 16


class Unreadable(Exception):
    """A file of an export cannot be read; the message is one line."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of an export: its name as parts, and a function that reads its first bytes."""

    parts: tuple[str, ...]
    read: Callable[[int], bytes]
    link: bool = False

    @property
    def name(self) -> str:
        return self.parts[-1]

    @property
    def suffix(self) -> str:
        return os.path.splitext(self.name)[1].lower()


def list_entries(path: Path) -> list[Entry]:
    """Return the files of the export at ``path``, sorted by name. Raises BadInput."""
    try:
        real = path.resolve(strict=True)
        found = list(_walk_folder(real) if real.is_dir() else _walk_zip(real))
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; give a folder of submissions or a downloaded archive") from None
    except UNREADABLE:
        raise BadInput(f"{path}: not a folder or a readable zip file; download it again") from None
    return sorted(found, key=lambda entry: entry.parts)


def is_litter(name: str) -> bool:
    """Return whether a name belongs to files that operating systems, editors and platforms leave behind."""
    return name.startswith(".") or name in LITTER


def strip_top_folder(found: list[Entry], archive: Path) -> list[Entry]:
    """Strip the single top folder that archives often have, named like the archive. Raises BadInput."""
    top = found[0].parts[0]
    if any(len(entry.parts) <= 2 or entry.parts[0] != top for entry in found):
        return found
    if not archive.stem.casefold().startswith(top.casefold()):  # it may be one student's, with any contents
        raise BadInput(
            f"{archive}: everything is in one folder, {clean(top, 200)!r}; unpack it, and give the folder with"
            " one folder per student"
        )
    return [Entry(entry.parts[1:], entry.read, entry.link) for entry in found]


def pack_entries(found: list[Entry]) -> bytes:
    """Return these files as a zip file with links kept, to be checked like a single submission."""
    buffer, total = io.BytesIO(), 0
    with zipfile.ZipFile(buffer, "w") as archive:
        for entry in found:
            data = b"" if entry.link else notebook.strip_outputs(entry.name, entry.read(get_size_limit(entry.name)))
            total += len(data)
            if total > MAX_ZIP:
                raise Unreadable(f"more than {MAX_ZIP >> 20} MB; ask for the code alone")
            info = zipfile.ZipInfo("/".join(map(_make_encodable, entry.parts)))
            info.external_attr = LINK if entry.link else stat.S_IFREG << 16
            archive.writestr(info, data)
    return buffer.getvalue()


def _make_encodable(name: str) -> str:
    """Return a name that a zip file can hold; one that is not UTF-8 stays unimportable."""
    return SURROGATE.sub(lambda found: f"\ufffd{ord(found[0]):x}", name.replace("\\", "_"))


def _walk_folder(root: Path) -> Iterator[Entry]:
    folders: list[tuple[str, ...]] = [()]
    while folders:
        inside = folders.pop()
        try:
            listed = list(os.scandir(os.path.join(root, *inside)))
        except OSError:
            if not inside:
                raise
            yield Entry((*inside, UNLISTED), _fail_to_list)
            continue
        for one in listed:
            if is_litter(one.name):
                continue
            if not one.is_dir(follow_symlinks=False):
                yield Entry((*inside, one.name), partial(_read_file, one.path), one.is_symlink())
            elif len(inside) < MAX_DEPTH:
                folders.append((*inside, one.name))


def _fail_to_list(cap: int) -> bytes:
    raise Unreadable("a folder that cannot be listed; make it readable")


def _read_file(path: str, cap: int) -> bytes:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Unreadable("not a regular file; ask for the file itself")
            return file.read(cap + 1)
    except OSError as error:
        raise Unreadable(f"{error.strerror}; make it readable") from None


def _walk_zip(path: Path) -> Iterator[Entry]:
    archive = zipfile.ZipFile(path)
    for info in archive.infolist():
        parts = tuple(part for part in info.filename.replace("\\", "/").split("/") if part)
        if parts and not info.is_dir() and not any(map(is_litter, parts)):
            yield Entry(
                parts,
                partial(_read_member, archive, info),
                stat.S_ISLNK(info.external_attr >> 16),
            )


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, cap: int) -> bytes:
    try:
        with archive.open(info) as file:
            return file.read(cap + 1)
    except UNREADABLE:
        raise Unreadable("damaged or encrypted in the archive; download it again") from None
