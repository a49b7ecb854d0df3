"""Identify students by the names and numbers that platforms and rosters use."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from autograder.core import csv_sheet
from autograder.core.errors import BadInput
from autograder.core.text import clean

# Column headers in lower case, by meaning.
COLUMNS = {
    "name": {"name", "full name", "student", "student name"},
    "first": {"first name", "first_name", "firstname", "given name"},
    "last": {"last name", "last_name", "surname", "lastname"},
    "email": {"email", "email address", "e-mail", "mail", "e-mail address"},
    "sid": {"sid", "student id", "id number", "sis user id", "matriculation number", "student number", "orgdefinedid"},
    "login": {"login", "username", "user name", "sis login id", "student_id", "netid", "user"},
    "moodle": {"identifier"},
    "canvas": {"canvas id", "canvas user id"},
}
STRONG = ("canvas", "moodle", "sid", "email", "login")  # no two students share one
# Beginnings of the names in rows that are not students.
NOBODY = ("points possible", "student, test", "test student")


@dataclass(frozen=True, slots=True)
class Person:
    """A student as one source knows them. ``ids`` are (kind, value); a "label" is a folder name.

    ``place`` is the exact location in an export, since two students may have similar names.
    """

    name: str
    ids: tuple[tuple[str, str], ...] = ()
    place: str = ""

    @property
    def key(self) -> tuple[tuple[str, str], ...]:
        """Return the identifiers that two people of one source share only if they are the same person."""
        strong = tuple(one for one in self.ids if one[0] in STRONG)
        place = self.place or ("" if strong else ascii(self.name))
        return (*strong, ("place", place)) if place else strong

    @property
    def display_name(self) -> str:
        """Return the name, or else an identifier."""
        return self.name or next((value for _, value in self.ids), "?")


def make_person(name: str, place: str = "", **ids: str) -> Person:
    """Return a person with those identifiers that are not empty."""
    kept = tuple((kind, normalise_id(value)) for kind, value in ids.items() if value.strip())
    return Person(one_line(name), kept, ascii(place) if place else "")


def one_line(text: str) -> str:
    """Return ``text`` in one line, without control characters."""
    return " ".join(clean(text, 200).split())


def normalise_id(value: str) -> str:
    """Normalise an identifier for comparison."""
    return one_line(value).casefold().removeprefix("participant ").removeprefix("#")


def sort_key(name: str) -> str:
    """Normalise a name for sorting: no accents, lower case."""
    return "".join(c for c in unicodedata.normalize("NFKD", name).casefold() if not unicodedata.combining(c))


def name_key(name: str) -> str:
    """Normalise a name for comparison: its words sorted, so that "Doe, Jané" is "doe jane"."""
    words = re.findall(r"\w+", sort_key(name))
    return " ".join(sorted(words)) or name


def read_roster(path: Path) -> list[Person]:
    """Return the students in a CSV file: a Canvas gradebook, a Moodle sheet, or any with names or e-mail addresses."""
    sheet = csv_sheet.read(path)
    if not find_columns(sheet.header):
        raise BadInput(
            f"{path}: no column for a name, an e-mail address or a student number; label one in its first row"
        )
    return [found for row in sheet.rows if (found := parse_row(row, sheet.header)) is not None]


def find_columns(header: list[str]) -> dict[str, int]:
    """Return the index of each known kind of column."""
    words = [cell.strip().casefold() for cell in header]
    found: dict[str, int] = {}
    for index, word in enumerate(words):
        for kind in (kind for kind, known in COLUMNS.items() if word in known):
            found.setdefault(kind, index)
    if "id" in words:  # Canvas's own number if the sheet has sections, else a student number
        found.setdefault("canvas" if "section" in words else "sid", words.index("id"))
    return found


def parse_row(row: list[str], header: list[str]) -> Person | None:
    """Return the person in a row of a sheet, or None if it has none."""
    cells = {kind: row[index].strip() for kind, index in find_columns(header).items() if index < len(row)}
    first, last = cells.pop("first", ""), cells.pop("last", "")
    found = make_person(cells.pop("name", "") or f"{first} {last}".strip(), **cells)
    nobody = found.name.casefold().startswith(NOBODY) or not (found.name or found.ids)
    return None if nobody else found
