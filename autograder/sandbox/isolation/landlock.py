"""Restrict the files that a process can reach, with Landlock (Linux 5.13 or newer), which needs no privilege.

Python's library, installed packages and shared libraries stay readable, so that late imports work; only the scratch
folder is writable. Whether a path exists stays visible.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.sandbox.isolation import syscalls

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # system call numbers, the same on all machines
VERSION = 1  # flag of CREATE_RULESET
PATH_BENEATH = 1
NET = 3  # TCP bind and connect, from ABI 4 on
SCOPE = 3  # abstract sockets and signals, from ABI 6 on

WRITE_FILE, READ_FILE, READ_DIR = 1 << 1, 1 << 2, 1 << 3
REMOVE_FILE, MAKE_REG = 1 << 5, 1 << 8
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
READ = READ_FILE | READ_DIR
WRITE = READ | WRITE_FILE | REMOVE_FILE | MAKE_REG | TRUNCATE  # no folders: the scratch folder stays flat
FILE_RIGHTS = WRITE_FILE | READ_FILE | TRUNCATE  # the rights that a rule on a non-folder can grant

SYSTEM = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store"),  # shared libraries
    *("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo"),
    *("/dev/zero", "/dev/random", "/dev/urandom"),
)


@dataclass(frozen=True, slots=True)
class Policy:
    """The rights that remain, by path; each includes everything below the path."""

    abi: int
    rules: tuple[tuple[str, int], ...]

    def apply(self, scratch: str) -> None:
        """Restrict this process permanently. Raises OSError if the kernel refuses."""
        handled = (1 << 13) - 1
        for since, right in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV)):
            handled |= right if self.abi >= since else 0
        size = 8 if self.abi < 4 else 16 if self.abi < 6 else 24
        attributes = ctypes.create_string_buffer(struct.pack("=QQQ", handled, NET, SCOPE)[:size], size)
        ruleset = syscalls.syscall(CREATE_RULESET, attributes, size, 0)
        try:
            for path, rights in (*self.rules, ("/dev/null", READ_FILE | WRITE_FILE), (scratch, WRITE)):
                _allow(ruleset, path, rights & handled)
            syscalls.syscall(RESTRICT_SELF, ruleset, 0)
        finally:
            os.close(ruleset)


def prepare(root: str) -> Policy | None:
    """Return the policy for a student's process, or None without Landlock; ``root`` contains the grader's package."""
    try:
        abi = syscalls.syscall(CREATE_RULESET, None, 0, VERSION)
    except OSError:
        return None
    hidden = set(_find_packages((root, *sys.path)))
    rules: dict[str, int] = {}
    for tree in find_libraries():
        for path, rights in _list_rules_except(tree, hidden):
            rules[path] = rules.get(path, 0) | rights
    return Policy(abi, tuple(rules.items()))


def _find_packages(folders: Iterable[str]) -> Iterator[Path]:
    """Yield the grader's package wherever it is installed, or the whole checkout, which contains the solution."""
    for folder in (Path(name).resolve() for name in folders):
        if (folder / "autograder").is_dir():
            # site-packages has libraries beside it
            yield folder if (folder / "pyproject.toml").exists() else folder / "autograder"


def find_libraries() -> list[Path]:
    """Return the folders and files that imports and shared libraries need."""
    own = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    found = {*SYSTEM, *own, *sys.path, f"{sys.base_prefix}/lib", *os.environ.get("LD_LIBRARY_PATH", "").split(":")}
    return sorted({Path(entry).resolve() for entry in found if os.path.isabs(entry) and os.path.exists(entry)})


def _list_rules_except(tree: Path, hidden: Collection[Path]) -> Iterator[tuple[str, int]]:
    """Yield rules for reading ``tree`` except ``hidden``, whose names stay listable, since rules only add rights."""
    if tree in hidden:
        return
    above = {parent for path in hidden for parent in path.parents}
    if tree not in above:
        yield str(tree), READ
        return
    yield str(tree), READ_DIR
    for child in tree.iterdir():
        target = child.resolve()
        if child == target:
            yield from _list_rules_except(child, hidden)
        elif not {target, *target.parents} & {*hidden} and target not in above:
            yield str(target), READ


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= FILE_RIGHTS
        if rights:
            rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, fd), 12)
            syscalls.syscall(ADD_RULE, ruleset, PATH_BENEATH, rule, 0)
    finally:
        os.close(fd)
