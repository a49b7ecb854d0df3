"""Sort a platform's export by student into a list of attempts, whatever its layout.

The layout is inferred from names that no single student controls: folders named by a platform or the course staff, or
most of the names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.core.assignment import Contract
from autograder.core.errors import BadInput
from autograder.course.intake.export_files import list_entries, strip_top_folder
from autograder.course.intake.identity import Person, make_person, one_line
from autograder.submission.archive import BadSubmission, Entry, is_litter

METADATA = "submission_metadata.yml"
MAX_METADATA = 64 << 20  # bytes; Gradescope repeats every result in this file
CANVAS = re.compile(r"(?P<name>[^_/]+)_(?P<late>LATE_)?(?P<user>\d+)_(?P<submission>\d+)_(?P<file>.+)", re.DOTALL)
MOODLE = re.compile(r"(?P<name>.+)_(?P<id>\d+)_assignsubmission_(?P<plugin>[a-z]+)_?(?P<file>.*)", re.DOTALL)
NUMBERED = re.compile(r"(?=_\d+_assignsubmission_)")  # occurs once in a name, unless a student added a second
GRADESCOPE = re.compile(r"assignment_\d+_export( ?\(\d+\)| \d+)?")  # the name of its folder, possibly unpacked twice
CONFIG = "nbgrader_config.py"
NBGRADER = {CONFIG, "source", "release", "autograded", "feedback", "secret"}  # files_at_top submitted/
AGAIN = re.compile(r"-\d+(?=\.\w+$)")  # Canvas numbers repeated uploads: main-1.py
ATTEMPT = re.compile(r"(?:attempt|try|version|v|submission)?[-_ ]?(\d+)|\d{4}-\d\d-\d\d.*", re.IGNORECASE)
ASIDE = {".csv", ".yml", ".yaml", ".md", ".sqlite", ".db", ".html", ".log"}  # never a submission
CODE = {".py", ".ipynb", ".zip"}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One submission in an export. A group has several people; ``order`` sorts attempts."""

    people: tuple[Person, ...]
    files: tuple[Entry, ...]
    order: str = ""
    submitted: str = ""
    is_single: bool = False  # a single file of any name is the main file, since the platform chose the name
    trouble: str = ""  # the reason it cannot be graded


def read(path: Path, contract: Contract, nbgrader_name: str | None = None) -> tuple[str, list[Attempt]]:
    """Return the layout of the export at ``path`` and its submissions. Raises BadInput."""
    if path.suffix.lower() in (".py", ".ipynb"):
        raise BadInput(f"{path}: a single file; use `grade` for it, or give a folder or archive of submissions")
    found = list_entries(path)
    if not found:
        raise BadInput(f"{path}: nothing in it; give the folder or archive that contains the submissions")
    if any(len(entry.parts) == 1 and entry.name.lower() == contract.file for entry in found):
        raise BadInput(f"{path}: a single submission; use `grade` for it, or give the folder that contains all of them")
    if metadata := _find_metadata(path, found):
        return "gradescope", _read_gradescope(path, found, metadata)
    platform = _detect_platform(found)
    if not platform:
        if submitted := _find_submitted(path, found):
            return "nbgrader", _read_nbgrader(path, submitted, nbgrader_name)
        found = strip_top_folder(found, path) if path.is_file() else found
        platform = _detect_platform(found)
    if platform:
        return platform, {"moodle": _read_moodle, "canvas": _read_canvas}[platform](found)
    if {entry.parts[0] for entry in found} == {found[0].parts[0]} and any(e.parts[1:] == (METADATA,) for e in found):
        top = one_line(found[0].parts[0])
        raise BadInput(f"{path}: {METADATA} is in the folder {top}; if that is Gradescope's export, give that folder")
    return "folder", _read_folder(found)


def _detect_platform(found: list[Entry]) -> str:
    """Return the platform whose pattern most names match, or ""."""
    tops = {entry.parts[0] for entry in found}
    moodle, canvas = ({top for top in tops if pattern.fullmatch(top)} for pattern in (MOODLE, CANVAS))
    tops -= moodle & canvas  # no platform writes such a name; a student chose part of it
    for name, own in (("moodle", moodle), ("canvas", canvas)):
        if 2 * len(own & tops) > len(tops):
            return name
    return ""


def _find_submitted(path: Path, found: list[Entry]) -> list[Entry]:
    """Return the files in nbgrader's submitted/, if the export is that folder or an nbgrader course folder."""
    tops = {entry.parts[0] for entry in found if len(entry.parts) > 1 or entry.suffix not in ASIDE}
    inside = found if path.name == "submitted" else []
    if tops - NBGRADER == {"submitted"} or {"submitted", CONFIG} <= tops:
        inside = _group_by_folder(found)[("submitted",)]
    students, deep = ({entry.parts[0] for entry in inside if len(entry.parts) > depth} for depth in (1, 2))
    return inside if 2 * len(deep) > len(students) else []


def _find_metadata(path: Path, found: list[Entry]) -> Entry | None:
    """Return Gradescope's list of submissions, at the top or in the one folder Gradescope named. Raises BadInput."""
    listed = [entry for entry in found if entry.name == METADATA]
    at_top = [entry for entry in listed if len(entry.parts) == 1]
    below = [entry for entry in listed if len(entry.parts) == 2 and GRADESCOPE.fullmatch(entry.parts[0])]
    chosen = at_top or below
    if len(chosen) > 1:
        raise BadInput(f"{path}: {len(chosen)} files named {METADATA}; give one Gradescope export at a time")
    return chosen[0] if chosen else None


def _group_by_folder(found: list[Entry], depth: int = 1) -> dict[tuple[str, ...], list[Entry]]:
    """Group files by their first folders, which are removed from their names."""
    groups: dict[tuple[str, ...], list[Entry]] = defaultdict(list)
    for entry in found:
        if len(entry.parts) > depth:
            groups[entry.parts[:depth]].append(Entry(entry.parts[depth:], entry.read, entry.link))
    return dict(groups)


def _read_gradescope(path: Path, found: list[Entry], metadata: Entry) -> list[Attempt]:
    """Read ``submission_<id>/`` folders, with their owners in a YAML file."""
    import yaml

    # The base loader ignores tags, so the file cannot create objects.
    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        facts = yaml.load(metadata.read(MAX_METADATA).decode("utf-8", "replace"), loader)
    except (yaml.YAMLError, BadSubmission, RecursionError) as error:
        raise BadInput(
            f"{path}: {METADATA} cannot be read ({one_line(str(error))}); download the export again"
        ) from None
    if not isinstance(facts, dict):
        raise BadInput(f"{path}: {METADATA} lists no submissions; download the export again")
    around = metadata.parts[:-1]
    groups = {
        key[-1]: files for key, files in _group_by_folder(found, len(metadata.parts)).items() if key[:-1] == around
    }
    attempts = []
    for folder in sorted(set(groups) | set(map(str, facts))):
        entry = facts.get(folder)
        entry = entry if isinstance(entry, dict) else {}
        submitters = entry.get(":submitters")
        people = [
            _parse_submitter(who, f"{folder}/{n}")
            for n, who in enumerate(submitters if isinstance(submitters, list) else [])
            if isinstance(who, dict)
        ]
        when, files = _get_text(entry, ":created_at"), tuple(groups.get(folder, []))
        trouble = ""
        if any(file.name == METADATA for file in files):
            trouble = f"it contains a {METADATA}, which only Gradescope writes; ask for the code alone"
        who = tuple(people) or (make_person("", folder, label=folder),)
        attempts.append(Attempt(who, files, when or folder, when, trouble=trouble))
    return attempts


def _parse_submitter(facts: dict[Any, Any], place: str) -> Person:
    sid, email = _get_text(facts, ":sid"), _get_text(facts, ":email")
    return make_person(_get_text(facts, ":name"), "" if sid.strip() or email.strip() else place, sid=sid, email=email)


def _get_text(facts: dict[Any, Any], key: str) -> str:
    value = facts.get(key)
    return "" if value is None or isinstance(value, (dict, list)) else str(value)


def _read_canvas(found: list[Entry]) -> list[Attempt]:
    """Read flat files: ``janedoe_LATE_<user>_<submission>_main-1.py``."""
    groups: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    unmatched = []
    for entry in found:
        match = CANVAS.fullmatch(entry.parts[0])
        if match is None:
            unmatched.append(entry)
            continue
        name = AGAIN.sub("", match["file"])
        groups[match["name"], match["user"]].append(Entry((name, *entry.parts[1:]), entry.read, entry.link))
    attempts = [
        Attempt((make_person(name, canvas=user),), tuple(files), is_single=True)
        for (name, user), files in sorted(groups.items())
    ]
    return attempts + _read_folder(unmatched)


def _read_moodle(found: list[Entry]) -> list[Attempt]:
    """Read folders or flat files: ``Jane Doe_<participant>_assignsubmission_file_/main.py``."""
    groups: dict[tuple[str, str, bool], list[Entry]] = {}
    flat = set()
    unmatched = []
    for entry in found:
        match = MOODLE.fullmatch(entry.parts[0])
        if match is None:
            unmatched.append(entry)
            continue
        twice = len(NUMBERED.findall(entry.parts[0])) > 1
        sure = not twice or (
            len(entry.parts) > 1 and not match["file"]
        )  # Moodle, not the student, writes the end of a folder name
        place = match["name"] if sure else entry.parts[0]
        key = (place, match["id"] if sure else "", twice)
        files = groups.setdefault(key, [])
        if len(entry.parts) == 1:
            flat.add(key)
        if match["plugin"] == "file":  # others are text typed into a form
            parts = entry.parts[1:] if len(entry.parts) > 1 else (match["file"] or entry.name,)
            files.append(Entry(parts, entry.read, entry.link))
    trouble = "its name has two participant numbers; rename it to match Moodle's list of participants"
    attempts = [
        Attempt(
            (make_person(name, "" if number else name, moodle=number),),
            tuple(files),
            is_single=(name, number, twice) in flat,
            trouble=trouble if twice else "",
        )
        for (name, number, twice), files in sorted(groups.items())
    ]
    return attempts + _read_folder(unmatched)


def _read_nbgrader(path: Path, found: list[Entry], wanted: str | None) -> list[Attempt]:
    """Read ``submitted/<student>/<assignment>/``, with the time in timestamp.txt."""
    groups = _group_by_folder(found, 2)
    names = sorted({name for _, name in groups})
    if wanted is None and len(names) > 1:
        raise BadInput(
            f"{path}: several assignments; choose one with --nbgrader-assignment: {', '.join(map(one_line, names))}"
        )
    if wanted is not None and wanted not in names:
        raise BadInput(f"{path}: no assignment {wanted}; choose from {', '.join(map(one_line, names))}")
    attempts = []
    for (student, name), files in sorted(groups.items()):
        if wanted in (None, name):
            when = ""
            for stamp in (entry for entry in files if entry.parts == ("timestamp.txt",)):
                try:
                    when = one_line(stamp.read(100).decode("utf-8", "replace"))
                except BadSubmission:
                    continue
            attempts.append(Attempt((make_person(student, student, login=student),), tuple(files), when, when))
    loose = {student for (student,) in _group_by_folder(found)} - {student for student, _ in groups}
    files_at_top = [entry for entry in found if len(entry.parts) == 1 and entry.suffix in CODE]
    return attempts + _read_folder(files_at_top + [entry for entry in found if entry.parts[0] in loose])


def _read_folder(found: list[Entry]) -> list[Attempt]:
    """Read a folder, zip file or Python file per student; a student's folder may contain one folder per attempt."""
    attempts = []
    for entry in found:
        if len(entry.parts) == 1 and entry.suffix not in ASIDE:
            stem = entry.name[: -len(entry.suffix)] if entry.suffix in CODE else entry.name
            attempts.append(Attempt((make_person(stem, stem, label=stem),), (entry,), is_single=True))
    for (student,), files in _group_by_folder(found).items():
        who = (make_person(student, student, label=student),)
        folders = _group_by_folder(files)
        tops = [entry for entry in files if len(entry.parts) == 1 and entry.suffix in CODE]
        if folders and not tops and all(ATTEMPT.fullmatch(name) for (name,) in folders):
            for (name,), inside in folders.items():
                if not all(is_litter(entry.name) for entry in inside):
                    attempts.append(Attempt(who, tuple(inside), _pad_numbers(name), name))
        else:
            attempts.append(Attempt(who, tuple(files)))
    return attempts


def _pad_numbers(name: str) -> str:
    """Return ``name`` with zero-padded numbers, so that attempt 10 sorts after attempt 9."""
    return re.sub(r"\d+", lambda number: number[0].zfill(12), name)
