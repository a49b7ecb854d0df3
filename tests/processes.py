"""List processes from /proc, for tests that must leave none behind."""

from __future__ import annotations

import time
from pathlib import Path


def parents() -> dict[int, int]:
    """Return each living process and its parent, without zombies."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            found[int(entry.name)] = int(parent)
    return found


def living(parent: int) -> set[int]:
    """Return the children of a process."""
    return {pid for pid, its_parent in parents().items() if its_parent == parent}


def descendants(ancestor: int) -> set[int]:
    """Return the children of a process, their children, and so on."""
    above, found, size = parents(), {ancestor}, 0
    while len(found) > size:
        size = len(found)
        found |= {pid for pid, parent in above.items() if parent in found}
    return found - {ancestor}


def ends(pid: int) -> bool:
    """Return whether a process that was told to end does so soon."""
    for _ in range(500):
        if pid not in parents():
            return True
        time.sleep(0.02)
    return False
