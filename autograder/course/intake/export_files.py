"""Read an export (a folder or a zip file) as names and bytes. Names in it are data, never paths."""

from __future__ import annotations

import zipfile
from pathlib import Path

from autograder.core.errors import BadInput
from autograder.core.text import clean
from autograder.submission.archive import UNREADABLE, Entry, is_litter, walk_folder, walk_zip


def list_entries(path: Path) -> list[Entry]:
    """Return the files of the export at ``path``, sorted by name. Raises BadInput."""
    try:
        real = path.resolve(strict=True)
        found = list(walk_folder(real) if real.is_dir() else walk_zip(zipfile.ZipFile(real)))
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; give a folder of submissions or a downloaded archive") from None
    except UNREADABLE:
        raise BadInput(f"{path}: not a folder or a readable zip file; download it again") from None
    return sorted(found, key=lambda entry: entry.parts)


def strip_top_folder(found: list[Entry], archive: Path) -> list[Entry]:
    """Strip the single top folder that archives often have, named like the archive. Raises BadInput."""
    top = found[0].parts[0]
    if any((len(entry.parts) <= 2 and not is_litter(entry.name)) or entry.parts[0] != top for entry in found):
        return found
    if not archive.stem.casefold().startswith(top.casefold()):  # the folder may be one student's, with any contents
        raise BadInput(
            f"{archive}: everything is in one folder, {clean(top, 200)!r}; unpack it, and give the folder with"
            " one folder per student"
        )
    return [Entry(entry.parts[1:], entry.read, entry.link) for entry in found]
