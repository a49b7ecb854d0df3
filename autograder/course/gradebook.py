"""The gradebook: one SQLite file that keeps every run, verdict, override and export, with when and why."""

from __future__ import annotations

import base64
import contextlib
import json
import secrets
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from autograder.course.people import STRONG, Person, spelled
from autograder.course.schema import PRAGMAS, SCHEMA, VERSION
from autograder.files import BadInput
from autograder.report import Report


def now() -> str:
    """The time, to the microsecond, in UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


class Gradebook:
    """The file, and what is done to it. Use as a context manager."""

    def __init__(self, folder: Path, create: bool = False) -> None:
        self.folder = folder
        path = folder / "gradebook.sqlite"
        if not create and not path.is_file():
            raise BadInput(f"{folder}: no gradebook.sqlite in it; `regrade PATH --out {folder}` makes one")
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # names and grades are nobody else's business
            for name in ("results", "submissions", "reports"):
                (folder / name).mkdir(exist_ok=True)
            self.db = sqlite3.connect(path, isolation_level=None)
            self.db.row_factory = sqlite3.Row
            self.db.executescript(PRAGMAS)
            with self.all_or_nothing():
                if not self.db.execute("PRAGMA user_version").fetchone()[0]:
                    for statement in SCHEMA.split(";\n"):
                        self.db.execute(statement)
                    self.db.execute(f"PRAGMA user_version={VERSION}")
        except (OSError, sqlite3.Error) as error:
            raise BadInput(f"{path}: {error}; name another folder with --out, or mend this one") from None
        if (version := self.db.execute("PRAGMA user_version").fetchone()[0]) != VERSION:
            raise BadInput(f"{path}: made by another release (layout {version}, here {VERSION}); use that one")

    def __enter__(self) -> Gradebook:
        return self

    def __exit__(self, *_: object) -> None:
        self.db.close()

    @contextlib.contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """One transaction."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        """All rows of a query."""
        return self.db.execute(query, values).fetchall()

    def row(self, query: str, *values: Any) -> sqlite3.Row | None:
        """The first row of a query."""
        found: sqlite3.Row | None = self.db.execute(query, values).fetchone()
        return found

    # --- students ---------------------------------------------------------------------------------------------------

    def student(self, person: Person, on_roster: bool = False) -> int:
        """The id of this person, who is known from now on by these identifiers too."""
        return self.students([person], on_roster)[0]

    def students(self, people: Sequence[Person], on_roster: bool = False) -> list[int]:
        """The ids of the people of one source, who are known from now on by these identifiers too."""
        found = {person.key: own for person, own in zip(people, self.matched(people), strict=True)}
        for person in people:
            known = found[person.key]
            if known is None:
                alias = f"student-{base64.b32encode(secrets.token_bytes(5)).decode().lower()}"
                insert = "INSERT INTO student (alias, name) VALUES (?, ?)"
                known = found[person.key] = self.db.execute(insert, (alias, person.shown)).lastrowid
                assert known is not None
            elif person.name and on_roster:  # a roster writes names as people do
                self.db.execute("UPDATE student SET name = ? WHERE id = ?", (person.name, known))
            self.db.execute("UPDATE student SET on_roster = max(on_roster, ?) WHERE id = ?", (on_roster, known))
            names = [("name", spelled(person.name))] if person.name else []
            self.db.executemany(
                "INSERT OR IGNORE INTO identifier VALUES (?, ?, ?)",
                [(known, kind, value) for kind, value in [*person.ids, *person.key, *names]],
            )
        return [own for person in people if (own := found[person.key]) is not None]

    def matched(self, people: Sequence[Person]) -> list[int | None]:
        """Return the known student that each person of one source is, None for each who may be someone else.

        Two of them are never the same student unless their keys are equal; a student who could be either of two is
        neither.
        """
        wanted = {person.key: person for person in people}
        found: dict[tuple[tuple[str, str], ...], int] = {}
        # What is known for sure comes first, so that nobody's name takes what a number says is another's.
        for recognise in (self._same, self._identified, self._recognised):
            taken = set(found.values())
            claims: dict[int, list[Person]] = defaultdict(list)
            for key, person in wanted.items():
                if key not in found and (own := recognise(person)) is not None and own not in taken:
                    claims[own].append(person)
            found |= {claimants[0].key: own for own, claimants in claims.items() if len(claimants) == 1}
        return [found.get(person.key) for person in people]

    def _same(self, person: Person) -> int | None:
        """Return the student who has all of this key."""
        known = [set(self._with("kind = ? AND value = ?", *one)) for one in person.key]
        common = set.intersection(*known)
        return common.pop() if len(common) == 1 else None

    def _identified(self, person: Person) -> int | None:
        """Return the student who has a part of this key, if no other student has one."""
        known = set[int]().union(*(self._with("kind = ? AND value = ?", *one) for one in person.key))
        return known.pop() if len(known) == 1 else None

    def _recognised(self, person: Person) -> int | None:
        """Return the student whose folder or name fits; a name counts if one student has it and no number differs."""
        if any(self._with("kind = ? AND value = ?", *one) for one in person.key):
            return None  # a number of theirs is somebody's, and whose is not sure
        for kind, value in person.ids:
            found = self._with("value = ?" if kind == "label" else "value = ? AND kind = 'label'", value)
            if len(found) == 1:
                return found[0]
        found = self._with("kind = 'name' AND value = ?", spelled(person.name)) if person.name else []
        if len(found) != 1:
            return None
        theirs = {row["kind"] for row in self.rows("SELECT kind FROM identifier WHERE student = ?", found[0])}
        return None if theirs & {kind for kind, _ in person.ids} & set(STRONG) else found[0]

    def _with(self, condition: str, *values: str) -> list[int]:
        """Return the students with an identifier that meets ``condition``."""
        rows = self.rows(f"SELECT DISTINCT student FROM identifier WHERE {condition}", *values)
        return [row["student"] for row in rows]

    def namesakes(self, run: sqlite3.Row) -> list[str]:
        """Return the names in ``run`` that fit more than one student, each once, or aliases if names are hidden."""
        shared = "SELECT value FROM identifier WHERE kind = 'name' GROUP BY value HAVING count(DISTINCT student) > 1"
        rows = self.rows(
            "SELECT DISTINCT student.* FROM student JOIN identifier ON identifier.student = student.id"
            f" WHERE kind = 'name' AND value IN ({shared})"
            " AND student.id IN (SELECT student FROM entry WHERE run = ?) ORDER BY name, alias",
            run["id"],
        )
        return list(dict.fromkeys(str(row["alias" if self.anonymous else "name"]) for row in rows))

    def named(self, text: str) -> sqlite3.Row:
        """The student meant by ``text``: an alias, an identifier or a name. Raises BadInput."""
        value = text.strip().casefold().removeprefix("participant ")
        rows = self.rows(
            "SELECT DISTINCT student.* FROM student LEFT JOIN identifier ON student = student.id"
            " WHERE alias = ? OR value = ? OR (kind = 'name' AND value = ?)",
            *(value, value, spelled(text)),
        )
        if len(rows) == 1:
            return rows[0]
        if rows:
            raise BadInput(f"{text}: {len(rows)} students; use one of {', '.join(row['alias'] for row in rows)}")
        raise BadInput(f"{text}: no such student; use an e-mail address, a number, a name or an alias of the page")

    # --- reports ----------------------------------------------------------------------------------------------------

    def stored(self, sha256: str, grader: str, rubric: str, seed: str) -> sqlite3.Row | None:
        """The report on these sources under these conditions."""
        return self.row(
            "SELECT * FROM report WHERE sha256 = ? AND grader = ? AND rubric = ? AND seed = ?",
            *(sha256, grader, rubric, seed),
        )

    def keep(self, report: Report, document: str) -> int:
        """The verdicts of ``report``, in place of earlier ones under the same conditions; its id."""
        facts = report.provenance
        key = (report.submission.sha256, facts.grader, facts.rubric, facts.seed_id)
        environment = json.dumps([facts.torch, facts.python, facts.platform, sorted(facts.confinement)])
        bonus = {criterion.id for criterion in report.criteria if criterion.bonus}
        found = self.stored(*key)
        if found is not None:
            own = int(found["id"])
            self.db.execute("DELETE FROM verdict WHERE report = ?", (own,))
            self.db.execute(
                "UPDATE report SET environment=?, document=?, gradable=?, max_score=?, graded=? WHERE id=?",
                (environment, document, report.gradable, report.max_score, now(), own),
            )
        else:
            cursor = self.db.execute(
                "INSERT INTO report (sha256, grader, rubric, seed, environment, document, gradable, max_score, graded)"
                " VALUES (?,?,?,?,?,?,?,?,?)",
                (*key, environment, document, report.gradable, report.max_score, now()),
            )
            assert cursor.lastrowid is not None
            own = cursor.lastrowid
        self.db.executemany(
            "INSERT INTO verdict VALUES (?,?,?,?,?,?,?,?,?,?,?)",
            [
                (own, n, v.id, v.criterion, v.title, v.criterion in bonus, v.status, v.score, v.max_score, v.message,
                 json.dumps([one.model_dump() for one in v.diagnosis], ensure_ascii=False))
                for n, v in enumerate(report.checks)
            ],
        )  # fmt: skip
        return own

    def document(self, name: str) -> Report:
        """The report in the file ``name`` of results/. Raises BadInput."""
        path = self.folder / "results" / name
        try:
            return Report.model_validate_json(path.read_bytes())
        except (OSError, ValueError) as error:
            raise BadInput(f"{path}: {str(error).splitlines()[0]}; `regrade` makes it again") from None

    # --- runs, settings ---------------------------------------------------------------------------------------------

    def current(self) -> sqlite3.Row | None:
        """The run whose scores count: the last one that finished and was not held back."""
        return self.row("SELECT * FROM run WHERE state = 'current' ORDER BY finished DESC, id DESC LIMIT 1")

    def run(self, number: int) -> sqlite3.Row:
        """A run that is over. Raises BadInput."""
        found = self.row("SELECT * FROM run WHERE id = ?", number)
        if found is None or found["state"] == "open":
            there = ", ".join(str(row["id"]) for row in self.rows("SELECT id FROM run WHERE state != 'open'"))
            raise BadInput(f"run {number}: not there or not finished; there are {there or 'none'}")
        return found

    def setting(self, name: str, value: str | None = None) -> str:
        """A remembered choice, after setting it where a ``value`` is given."""
        if value is not None:
            self.db.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, value))
        found = self.row("SELECT value FROM setting WHERE name = ?", name)
        return str(found["value"]) if found else ""

    @property
    def anonymous(self) -> bool:
        """Whether names are hidden in what people read."""
        return self.setting("anonymous") == "yes"

    def event(self, what: str) -> None:
        """Something that happened, for the record."""
        self.db.execute("INSERT INTO event VALUES (?, ?)", (now(), what))
