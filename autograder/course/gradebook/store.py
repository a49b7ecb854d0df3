"""Store the gradebook: one SQLite file with every run, verdict, override and export, with time and reason."""

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

from autograder.core.errors import BadInput
from autograder.course.gradebook.schema import PRAGMAS, SCHEMA, VERSION
from autograder.course.intake.identity import STRONG, Person, name_key
from autograder.grading.report import Report


def now() -> str:
    """Return the time in UTC, to the microsecond."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


class Gradebook:
    """The SQLite file and its operations. Use as a context manager."""

    def __init__(self, folder: Path, create: bool = False) -> None:
        self.folder = folder
        path = folder / "gradebook.sqlite"
        if not create and not path.is_file():
            raise BadInput(f"{folder}: no gradebook.sqlite in it; create one with `regrade PATH --out {folder}`")
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # names and grades are private
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
            raise BadInput(f"{path}: {error}; choose another folder with --out, or repair this one") from None
        if (version := self.db.execute("PRAGMA user_version").fetchone()[0]) != VERSION:
            raise BadInput(f"{path}: created by another release (layout {version}, here {VERSION}); use that release")

    def __enter__(self) -> Gradebook:
        return self

    def __exit__(self, *_: object) -> None:
        self.db.close()

    @contextlib.contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Run the body in one transaction."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        """Return all rows of a query."""
        return self.db.execute(query, values).fetchall()

    def row(self, query: str, *values: Any) -> sqlite3.Row | None:
        """Return the first row of a query, or None."""
        found: sqlite3.Row | None = self.db.execute(query, values).fetchone()
        return found

    # --- students ---------------------------------------------------------------------------------------------------

    def student(self, person: Person, on_roster: bool = False) -> int:
        """Return the id of this person, adding the identifiers to those already known."""
        return self.students([person], on_roster)[0]

    def students(self, people: Sequence[Person], on_roster: bool = False) -> list[int]:
        """Return the ids of the people of one source, adding their identifiers to those already known."""
        found = {person.key: own for person, own in zip(people, self.matched(people), strict=True)}
        for person in people:
            known = found[person.key]
            if known is None:
                alias = f"student-{base64.b32encode(secrets.token_bytes(5)).decode().lower()}"
                insert = "INSERT INTO student (alias, name) VALUES (?, ?)"
                known = found[person.key] = self.db.execute(insert, (alias, person.shown)).lastrowid
                assert known is not None
            elif person.name and on_roster:  # a roster spells names properly
                self.db.execute("UPDATE student SET name = ? WHERE id = ?", (person.name, known))
            self.db.execute("UPDATE student SET on_roster = max(on_roster, ?) WHERE id = ?", (on_roster, known))
            names = [("name", name_key(person.name))] if person.name else []
            self.db.executemany(
                "INSERT OR IGNORE INTO identifier VALUES (?, ?, ?)",
                [(known, kind, value) for kind, value in [*person.ids, *person.key, *names]],
            )
        return [own for person in people if (own := found[person.key]) is not None]

    def matched(self, people: Sequence[Person]) -> list[int | None]:
        """Match each person of one source to a known student, or to None if in doubt.

        Two people match the same student only if their keys are equal; if two could be the same student, neither
        matches.
        """
        wanted = {person.key: person for person in people}
        found: dict[tuple[tuple[str, str], ...], int] = {}
        # Certain matches come first, so that a name never overrides an identifier.
        for recognise in (self._same, self._identified, self._recognised):
            taken = set(found.values())
            claims: dict[int, list[Person]] = defaultdict(list)
            for key, person in wanted.items():
                if key not in found and (own := recognise(person)) is not None and own not in taken:
                    claims[own].append(person)
            found |= {claimants[0].key: own for own, claimants in claims.items() if len(claimants) == 1}
        return [found.get(person.key) for person in people]

    def _same(self, person: Person) -> int | None:
        """Return the only student with every identifier of this key."""
        known = [set(self._with("kind = ? AND value = ?", *one)) for one in person.key]
        common = set.intersection(*known)
        return common.pop() if len(common) == 1 else None

    def _identified(self, person: Person) -> int | None:
        """Return the only student with any identifier of this key."""
        known = set[int]().union(*(self._with("kind = ? AND value = ?", *one) for one in person.key))
        return known.pop() if len(known) == 1 else None

    def _recognised(self, person: Person) -> int | None:
        """Return the student with this folder or name; a name must be unique and no number may differ."""
        if any(self._with("kind = ? AND value = ?", *one) for one in person.key):
            return None  # one of their numbers is known, but its owner is unclear
        for kind, value in person.ids:
            found = self._with("value = ?" if kind == "label" else "value = ? AND kind = 'label'", value)
            if len(found) == 1:
                return found[0]
        found = self._with("kind = 'name' AND value = ?", name_key(person.name)) if person.name else []
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
        """Return the student identified by ``text``: an alias, an identifier or a name. Raises BadInput."""
        value = text.strip().casefold().removeprefix("participant ")
        rows = self.rows(
            "SELECT DISTINCT student.* FROM student LEFT JOIN identifier ON student = student.id"
            " WHERE alias = ? OR value = ? OR (kind = 'name' AND value = ?)",
            *(value, value, name_key(text)),
        )
        if len(rows) == 1:
            return rows[0]
        if rows:
            raise BadInput(f"{text}: {len(rows)} students; use one of {', '.join(row['alias'] for row in rows)}")
        raise BadInput(f"{text}: no such student; use an e-mail address, a number, a name or an alias from the page")

    # --- reports ----------------------------------------------------------------------------------------------------

    def stored(self, sha256: str, grader: str, rubric: str, seed: str) -> sqlite3.Row | None:
        """Return the report on these sources under these conditions, or None."""
        return self.row(
            "SELECT * FROM report WHERE sha256 = ? AND grader = ? AND rubric = ? AND seed = ?",
            *(sha256, grader, rubric, seed),
        )

    def keep(self, report: Report, document: str) -> int:
        """Store the verdicts of ``report``, replacing earlier ones under the same conditions; return its id."""
        facts = report.provenance
        key = (report.submission.sha256, facts.grader, facts.rubric, facts.seed_id)
        environment = json.dumps([facts.torch, facts.python, facts.platform, sorted(facts.sandbox)])
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
        """Return the report in the file ``name`` of results/. Raises BadInput."""
        path = self.folder / "results" / name
        try:
            return Report.model_validate_json(path.read_bytes())
        except (OSError, ValueError) as error:
            raise BadInput(f"{path}: {str(error).splitlines()[0]}; run `regrade` to recreate it") from None

    # --- runs, settings ---------------------------------------------------------------------------------------------

    def current(self) -> sqlite3.Row | None:
        """Return the run whose scores count: the last one that finished and was not held back."""
        return self.row("SELECT * FROM run WHERE state = 'current' ORDER BY finished DESC, id DESC LIMIT 1")

    def run(self, number: int) -> sqlite3.Row:
        """Return a finished run. Raises BadInput."""
        found = self.row("SELECT * FROM run WHERE id = ?", number)
        if found is None or found["state"] == "open":
            there = ", ".join(str(row["id"]) for row in self.rows("SELECT id FROM run WHERE state != 'open'"))
            raise BadInput(f"run {number}: not found or not finished; finished runs: {there or 'none'}")
        return found

    def setting(self, name: str, value: str | None = None) -> str:
        """Return a stored setting, after setting it if a ``value`` is given."""
        if value is not None:
            self.db.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, value))
        found = self.row("SELECT value FROM setting WHERE name = ?", name)
        return str(found["value"]) if found else ""

    @property
    def anonymous(self) -> bool:
        """Return whether names are hidden in pages and output."""
        return self.setting("anonymous") == "yes"

    def event(self, what: str) -> None:
        """Log an event."""
        self.db.execute("INSERT INTO event VALUES (?, ?)", (now(), what))
