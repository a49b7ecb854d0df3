"""An export as names and bytes, whether it is a folder or a zip file. Names in it are data, never paths."""

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

from autograder import notebook
from autograder.files import BadInput
from autograder.sandbox.wire import clean
from autograder.submission import LITTER, MAX_ZIP, UNREADABLE, cap

MAX_DEPTH = 8  # folders below each other that are looked into: no layout has more
UNLISTED = "unlisted.py"  # stands for what is in a folder that cannot be read
SURROGATE = re.compile("[\ud800-\udfff]")  # how Python writes a byte of a name that is no UTF-8
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
    return sorted(found, key=lambda entry: entry.parts)


def litter(name: str) -> bool:
    """What operating systems, editors and platforms leave beside the submissions."""
    return name.startswith(".") or name in LITTER


def unwrapped(found: list[Entry], archive: Path) -> list[Entry]:
    """Without the one folder that archives often have around everything, named like them. Raises BadInput."""
    top = found[0].parts[0]
    if any(len(entry.parts) <= 2 or entry.parts[0] != top for entry in found):
        return found
    if not archive.stem.casefold().startswith(top.casefold()):  # it may be a student's, with what that student likes
        raise BadInput(
            f"{archive}: all of it lies in one folder, {clean(top, 200)!r}; unpack it, and name the folder in which"
            " each student has one"
        )
    return [Entry(entry.parts[1:], entry.read, entry.link) for entry in found]


def packed(found: list[Entry]) -> bytes:
    """These files as a zip file, links as links: what is read from it is checked where single submissions are."""
    buffer, total = io.BytesIO(), 0
    with zipfile.ZipFile(buffer, "w") as archive:
        for entry in found:
            data = b"" if entry.link else notebook.smaller(entry.name, entry.read(cap(entry.name)))
            total += len(data)
            if total > MAX_ZIP:
                raise Unreadable(f"more than {MAX_ZIP >> 20} MB; ask for the code alone")
            info = zipfile.ZipInfo("/".join(map(_encodable, entry.parts)))
            info.external_attr = LINK if entry.link else stat.S_IFREG << 16
            archive.writestr(info, data)
    return buffer.getvalue()


def _encodable(name: str) -> str:
    """A name that a zip file can hold; one that is no UTF-8 stays one that Python cannot import."""
    return SURROGATE.sub(lambda found: f"\ufffd{ord(found[0]):x}", name.replace("\\", "_"))


def _of_folder(root: Path) -> Iterator[Entry]:
    folders: list[tuple[str, ...]] = [()]
    while folders:
        inside = folders.pop()
        try:
            listed = list(os.scandir(os.path.join(root, *inside)))
        except OSError:
            if not inside:
                raise
            yield Entry((*inside, UNLISTED), _unlisted)
            continue
        for one in listed:
            if litter(one.name):
                continue
            if not one.is_dir(follow_symlinks=False):
                yield Entry((*inside, one.name), partial(_bytes, one.path), one.is_symlink())
            elif len(inside) < MAX_DEPTH:
                folders.append((*inside, one.name))


def _unlisted(cap: int) -> bytes:
    raise Unreadable("a folder that cannot be listed; make it readable")


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
        if parts and not info.is_dir() and not any(map(litter, parts)):
            yield Entry(
                parts,
                partial(_member, archive, info),
                stat.S_ISLNK(info.external_attr >> 16),
            )


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, cap: int) -> bytes:
    try:
        with archive.open(info) as file:
            return file.read(cap + 1)
    except UNREADABLE:
        raise Unreadable("damaged or encrypted in the archive; download it again") from None
