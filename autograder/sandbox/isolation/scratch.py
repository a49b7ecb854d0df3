"""Remove the scratch folders of submissions, whatever their depth, modes and number of files."""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import stat
from pathlib import Path


def remove(folder: Path | str) -> None:
    """Remove ``folder`` as far as this user can; never raises, follows no link and needs little memory."""
    with contextlib.suppress(OSError):
        top = _open(folder)
        try:
            _empty(top)
        finally:
            os.close(top)
        os.rmdir(folder)


def _empty(top: int) -> None:
    """Empty an open folder without recursion: nested folders are moved up, so that no path grows long."""
    prefix, count = secrets.token_hex(8), itertools.count()
    waiting = _unlink_files(top)
    while waiting:
        name = waiting.pop()
        with contextlib.suppress(OSError):
            folder = _open(name, top)
            try:
                for child in _unlink_files(folder):
                    with contextlib.suppress(OSError):
                        _make_accessible(child, folder)  # moving a folder needs write permission on it
                        moved = f"{prefix}-{next(count)}"
                        os.rename(child, moved, src_dir_fd=folder, dst_dir_fd=top)
                        waiting.append(moved)
            finally:
                os.close(folder)
            os.rmdir(name, dir_fd=top)


def _unlink_files(folder: int) -> list[str]:
    """Unlink all files in an open folder and return the names of its subfolders."""
    found: list[str] = []
    unlinked = True
    while unlinked:  # some file systems skip entries while others are being removed
        unlinked, found = False, []
        with os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        found.append(entry.name)
                    else:
                        os.unlink(entry.name, dir_fd=folder)
                        unlinked = True
    return found


def _open(folder: Path | str, parent: int | None = None) -> int:
    _make_accessible(folder, parent)
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)


def _make_accessible(folder: Path | str, parent: int | None) -> None:
    """Give this user all rights to a folder of its own; root needs none."""
    mode = os.stat(folder, dir_fd=parent, follow_symlinks=False).st_mode
    if os.geteuid() and stat.S_ISDIR(mode) and mode & stat.S_IRWXU != stat.S_IRWXU:
        os.chmod(folder, stat.S_IRWXU, dir_fd=parent)
