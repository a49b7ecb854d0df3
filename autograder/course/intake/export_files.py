"""Read an export, folder or zip file, as names and bytes. Names in it are data, never paths."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from autograder.core.errors import BadInput
from autograder.core.text import clean
from autograder.submission.archive import (
    UNREADABLE,
    BadSubmission,
    is_link,
    is_litter,
    make_printable,
    read_file,
    read_member,
)

MAX_DEPTH = 8  # nested folders that are read; no layout has more
UNLISTED = "unlisted.py"  # stands for the contents of an unreadable folder


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


def _fail_to_list(limit: int) -> bytes:
    raise BadSubmission("a folder that cannot be listed; make it readable")


def _read_file(path: str, limit: int) -> bytes:
    return read_file(path, None, make_printable(os.path.basename(path)), limit)


def _walk_zip(path: Path) -> Iterator[Entry]:
    archive = zipfile.ZipFile(path)
    for info in archive.infolist():
        parts = tuple(part for part in info.filename.replace("\\", "/").split("/") if part)
        if parts and not info.is_dir() and not any(map(is_litter, parts)):
            yield Entry(
                parts,
                partial(_read_member, archive, info),
                is_link(info),
            )


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> bytes:
    return read_member(archive, info, make_printable(info.filename), limit)
