"""Store the gradebook: one SQLite file with every run, verdict, override and export, with time and reason.

No other module knows SQL or sqlite3: methods return rows as the values of ``records``, and raise SQLite's errors as
BadInput.
"""

from __future__ import annotations

import base64
import contextlib
import json
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from autograder.core.errors import BadInput
from autograder.course.gradebook.records import (
    DeletedFiles,
    Entry,
    Override,
    ReportKey,
    Run,
    StoredReport,
    StoredVerdict,
    Student,
)
from autograder.course.gradebook.schema import MIGRATIONS, PRAGMAS, SCHEMA, VERSION
from autograder.course.intake.collect import CollectedAttempt
from autograder.course.intake.identity import name_key
from autograder.grading.report import Diagnosis, Report, Verdict


class Gradebook:
    """The SQLite file and its operations. Use as a context manager."""

    def __init__(self, folder: Path, create: bool = False) -> None:
        self.folder = folder
        self._path = folder / "gradebook.sqlite"
        if not create and not self._path.is_file():
            raise BadInput(f"{folder}: no gradebook.sqlite in it; create one with `regrade PATH --gradebook {folder}`")
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # names and grades are private
            for name in ("results", "submissions", "reports"):
                (folder / name).mkdir(exist_ok=True)
            self._db = sqlite3.connect(self._path, isolation_level=None)
            self._db.row_factory = sqlite3.Row
            self._db.executescript(PRAGMAS)
            with self.transaction():
                self._upgrade()
        except (OSError, sqlite3.Error) as error:
            raise BadInput(
                f"{self._path}: {error}; choose another folder with --gradebook, or repair this one"
            ) from None

    def _upgrade(self) -> None:
        """Create the tables, or bring those of an earlier version up to date. Raises BadInput."""
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise BadInput(
                f"{self._path}: created by a newer release (layout {version}, here {VERSION}); use that release"
            )
        scripts = [MIGRATIONS[old] for old in range(version, VERSION)] if version else [SCHEMA]
        for script in scripts:
            for statement in script.split(";\n"):
                self._db.execute(statement)
        self._db.execute(f"PRAGMA user_version={VERSION}")

    def __enter__(self) -> Gradebook:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the body in one transaction."""
        self._execute("BEGIN IMMEDIATE")
        try:
            yield
            self._execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # SQLite itself rolls back if the disk is full
                self._execute("ROLLBACK")
            raise

    def _execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        """Run one statement. Raises BadInput."""
        with self._translate_errors():
            return self._db.execute(statement, values)

    def _execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row of values. Raises BadInput."""
        with self._translate_errors():
            self._db.executemany(statement, rows)

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise BadInput(f"{self._path}: {error}; fix that, then repeat the command") from error

    def _select(self, query: str, *values: Any) -> list[sqlite3.Row]:
        """Return all rows of a query. Raises BadInput."""
        with self._translate_errors():
            return self._db.execute(query, values).fetchall()

    def _select_first(self, query: str, *values: Any) -> sqlite3.Row | None:
        """Return the first row of a query, or None. Raises BadInput."""
        return next(iter(self._select(query, *values)), None)

    def _insert(self, statement: str, *values: Any) -> int:
        """Insert a row and return its id. Raises BadInput."""
        number = self._execute(statement, *values).lastrowid
        assert number is not None
        return number

    # --- students ---------------------------------------------------------------------------------------------------

    def list_students(self) -> list[Student]:
        """Return all students."""
        return [_make_student(row) for row in self._select("SELECT * FROM student")]

    def list_identifiers(self, number: int) -> list[tuple[str, str]]:
        """Return how platforms know the student with this id: pairs of kind and value."""
        rows = self._select("SELECT kind, value FROM identifier WHERE student = ?", number)
        return [(row["kind"], row["value"]) for row in rows]

    def add_student(self, name: str) -> int:
        """Add a student under a new alias; return the id."""
        alias = f"student-{base64.b32encode(secrets.token_bytes(5)).decode().lower()}"
        return self._insert("INSERT INTO student (alias, name) VALUES (?, ?)", alias, name)

    def rename_student(self, number: int, name: str) -> None:
        """Change the name of the student with this id."""
        self._execute("UPDATE student SET name = ? WHERE id = ?", name, number)

    def mark_on_roster(self, number: int) -> None:
        """Record that a roster lists the student with this id."""
        self._execute("UPDATE student SET on_roster = 1 WHERE id = ?", number)

    def add_identifiers(self, number: int, identifiers: Iterable[tuple[str, str]]) -> None:
        """Add identifiers of the student with this id: pairs of kind and value."""
        self._execute_many(
            "INSERT OR IGNORE INTO identifier VALUES (?, ?, ?)", [(number, kind, value) for kind, value in identifiers]
        )

    def find_ids(self, value: str, kind: str | None = None) -> list[int]:
        """Return the ids of the students with an identifier of this value, of one kind or of any."""
        rows = self._select(
            "SELECT DISTINCT student FROM identifier WHERE value = ? AND (? IS NULL OR kind = ?)", value, kind, kind
        )
        return [row["student"] for row in rows]

    def list_ambiguous_names(self, run: Run) -> list[str]:
        """Return the names in ``run`` that fit more than one student, each once, or aliases if names are hidden."""
        shared = "SELECT value FROM identifier WHERE kind = 'name' GROUP BY value HAVING count(DISTINCT student) > 1"
        rows = self._select(
            "SELECT DISTINCT student.* FROM student JOIN identifier ON identifier.student = student.id"
            f" WHERE kind = 'name' AND value IN ({shared})"
            " AND student.id IN (SELECT student FROM entry WHERE run = ?) ORDER BY name, alias",
            run.id,
        )
        return list(dict.fromkeys(_make_student(row).display_name(self.is_anonymous) for row in rows))

    def find_student(self, text: str) -> Student:
        """Return the student identified by ``text``: an alias, an identifier or a name. Raises BadInput."""
        value = text.strip().casefold().removeprefix("participant ")
        rows = self._select(
            "SELECT DISTINCT student.* FROM student LEFT JOIN identifier ON student = student.id"
            " WHERE alias = ? OR value = ? OR (kind = 'name' AND value = ?)",
            *(value, value, name_key(text)),
        )
        if len(rows) == 1:
            return _make_student(rows[0])
        if rows:
            raise BadInput(f"{text}: {len(rows)} students; use one of {', '.join(row['alias'] for row in rows)}")
        raise BadInput(f"{text}: no such student; use an e-mail address, a number, a name or an alias from the page")

    def delete_student(self, student: Student) -> DeletedFiles:
        """Delete a student's rows, and the reports on sources that no other student submitted."""
        entries = self._select("SELECT DISTINCT sha256 FROM entry WHERE student = ?", student.id)
        self._execute("DELETE FROM student WHERE id = ?", student.id)
        hashes, documents, sharing = [], [], 0
        for (sha256,) in entries:
            others = self._select("SELECT DISTINCT student FROM entry WHERE sha256 = ?", sha256)
            if others:
                sharing = max(sharing, len(others))
                continue
            hashes += [sha256] if sha256 else []
            documents += [
                row["document"] for row in self._select("SELECT document FROM report WHERE sha256 = ?", sha256)
            ]
            self._execute("DELETE FROM report WHERE sha256 = ?", sha256)
        return DeletedFiles(tuple(hashes), tuple(documents), sharing)

    def purge_deleted_rows(self) -> None:
        """Rewrite the file, since deleted rows survive in free pages and in the journal."""
        self._execute("VACUUM")
        self._execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # --- reports ----------------------------------------------------------------------------------------------------

    def find_report(self, sha256: str, key: ReportKey) -> StoredReport | None:
        """Return the report on these sources under this key, or None."""
        row = self._select_first(
            "SELECT * FROM report WHERE sha256 = ? AND grader = ? AND rubric = ? AND seed = ?",
            *(sha256, key.grader, key.rubric, key.seed),
        )
        return _make_report(row) if row is not None else None

    def get_report(self, number: int) -> StoredReport:
        """Return the report with this id."""
        (row,) = self._select("SELECT * FROM report WHERE id = ?", number)
        return _make_report(row)

    def list_reports(self, run: Run) -> list[StoredReport]:
        """Return the reports of a run."""
        rows = self._select(
            "SELECT DISTINCT report.* FROM report JOIN entry ON report.id = report WHERE run = ?", run.id
        )
        return [_make_report(row) for row in rows]

    def save_report(self, report: Report, document: str) -> int:
        """Store the verdicts of ``report``, replacing earlier ones under the same key; return its id."""
        facts = report.provenance
        key = ReportKey(facts.grader, facts.rubric, facts.seed_id)
        environment = json.dumps([facts.torch, facts.python, facts.platform, sorted(facts.sandbox)])
        bonus = {criterion.id for criterion in report.criteria if criterion.bonus}
        found = self.find_report(report.submission.sha256, key)
        if found is not None:
            number = found.id
            self._execute("DELETE FROM verdict WHERE report = ?", number)
            self._execute(
                "UPDATE report SET environment=?, document=?, gradable=?, max_score=?, graded=? WHERE id=?",
                *(environment, document, report.gradable, report.max_score, _timestamp(), number),
            )
        else:
            number = self._insert(
                "INSERT INTO report (sha256, grader, rubric, seed, environment, document, gradable, max_score, graded)"
                " VALUES (?,?,?,?,?,?,?,?,?)",
                *(report.submission.sha256, key.grader, key.rubric, key.seed),
                *(environment, document, report.gradable, report.max_score, _timestamp()),
            )
        self._execute_many(
            "INSERT INTO verdict VALUES (?,?,?,?,?,?,?,?,?,?,?)",
            [
                (number, n, v.id, v.criterion, v.title, v.criterion in bonus, v.status, v.score, v.max_score, v.message,
                 json.dumps([one.model_dump() for one in v.diagnosis], ensure_ascii=False))
                for n, v in enumerate(report.checks)
            ],
        )  # fmt: skip
        return number

    def load_document(self, name: str) -> Report:
        """Return the report in the file ``name`` of results/. Raises BadInput."""
        path = self.folder / "results" / name
        try:
            return Report.model_validate_json(path.read_bytes())
        except (OSError, ValueError) as error:
            raise BadInput(f"{path}: {str(error).splitlines()[0]}; run `regrade` to recreate it") from None

    def list_verdicts(self, report: int) -> list[StoredVerdict]:
        """Return the verdicts of a report, in order."""
        rows = self._select("SELECT * FROM verdict WHERE report = ? ORDER BY position", report)
        return [_make_verdict(row) for row in rows]

    # --- runs -------------------------------------------------------------------------------------------------------

    def has_runs(self) -> bool:
        """Return whether anything has been graded, or planned."""
        return self._select_first("SELECT 1 FROM run") is not None

    def find_current_run(self) -> Run | None:
        """Return the run whose scores count: the last one that finished and was not held back."""
        return self._find_run("WHERE state = 'current' ORDER BY finished DESC, id DESC LIMIT 1")

    def require_current_run(self) -> Run:
        """Return the run whose scores count. Raises BadInput if there is none yet."""
        run = self.find_current_run()
        if run is None:
            raise BadInput(f"{self.folder}: no finished run yet; run `regrade` first")
        return run

    def find_previous_run(self, run: Run) -> Run | None:
        """Return the last finished run before ``run``, or None."""
        return self._find_run("WHERE state != 'open' AND id < ? ORDER BY id DESC LIMIT 1", run.id)

    def get_finished_run(self, number: int) -> Run:
        """Return a finished run. Raises BadInput."""
        found = self._find_run("WHERE id = ? AND state != 'open'", number)
        if found is None:
            listed = ", ".join(str(run.id) for run in self.list_finished_runs())
            raise BadInput(f"run {number}: not found or not finished; finished runs: {listed or 'none'}")
        return found

    def list_finished_runs(self) -> list[Run]:
        """Return the finished runs, in order."""
        return [_make_run(row) for row in self._select("SELECT * FROM run WHERE state != 'open' ORDER BY id")]

    def _find_run(self, condition: str, *values: Any) -> Run | None:
        row = self._select_first(f"SELECT * FROM run {condition}", *values)
        return _make_run(row) if row is not None else None

    def open_run(self, kind: str, key: ReportKey, source: str, note: str) -> Run:
        """Return a new run without entries; interrupted ones are deleted, but not their reports."""
        self._execute("DELETE FROM entry WHERE run IN (SELECT id FROM run WHERE state = 'open')")
        self._execute("DELETE FROM run WHERE state = 'open'")
        number = self._insert(
            "INSERT INTO run (kind, state, started, source, note, grader, rubric, seed) VALUES (?,'open',?,?,?,?,?,?)",
            *(kind, _timestamp(), source, note, key.grader, key.rubric, key.seed),
        )
        run = self._find_run("WHERE id = ?", number)
        assert run is not None
        return run

    def resume_run(self, key: ReportKey, source: str, note: str) -> Run | None:
        """Return the last interrupted run without its entries if it has this key, else None."""
        run = self._find_run("WHERE state = 'open' ORDER BY id DESC LIMIT 1")
        if run is None or run.key != key:
            return None
        self._execute("DELETE FROM entry WHERE run = ?", run.id)
        self._execute("UPDATE run SET source = ?, note = ? WHERE id = ?", source, note or run.note, run.id)
        return self._find_run("WHERE id = ?", run.id)

    def finish_run(self, run: Run, state: str) -> None:
        """Close a run as ``held`` or ``current``."""
        self._execute("UPDATE run SET state = ?, finished = ? WHERE id = ?", state, _timestamp(), run.id)

    def delete_run(self, run: Run) -> None:
        """Delete a run, but not its reports."""
        self._execute("DELETE FROM entry WHERE run = ?", run.id)
        self._execute("DELETE FROM run WHERE id = ?", run.id)

    # --- entries of a run -------------------------------------------------------------------------------------------

    def add_entries(self, run: Run, attempts: Iterable[CollectedAttempt]) -> None:
        """Add attempts to a run, without reports."""
        self._execute_many(
            "INSERT INTO entry (run, student, attempt, latest, submitted, partners, sha256, trouble)"
            " VALUES (?,?,?,?,?,?,?,?)",
            [(run.id, a.student, a.attempt, a.latest, a.submitted, a.partners, a.sha256, a.trouble) for a in attempts],
        )

    def copy_entries(self, old: Run, new: Run, reports: Mapping[int, tuple[int | None, str]]) -> None:
        """Copy the entries of a run with new reports; ``reports`` maps each old report's id to (new id, trouble)."""
        copied = [(new.id, trouble or None, own, old.id, number) for number, (own, trouble) in reports.items()]
        self._execute_many(
            "INSERT INTO entry SELECT ?, student, attempt, latest, submitted, partners, sha256, coalesce(?, trouble), ?"
            " FROM entry WHERE run = ? AND report IS ?",
            [*copied, (new.id, None, None, old.id, None)],
        )

    def list_entries(self, run: Run, all_attempts: bool = False) -> list[Entry]:
        """Return the latest attempts in a run, or all of them, sorted by the student's name."""
        rows = self._select(
            "SELECT entry.* FROM entry JOIN student ON student.id = student WHERE run = ? AND (latest OR ?)"
            " ORDER BY student.name, student.id, attempt",
            *(run.id, all_attempts),
        )
        return [_make_entry(row) for row in rows]

    def list_hashes(self, run: Run) -> list[str]:
        """Return the hashes of the different sources in a run."""
        rows = self._select("SELECT DISTINCT sha256 FROM entry WHERE run = ? AND sha256 != '' ORDER BY sha256", run.id)
        return [row["sha256"] for row in rows]

    def enter_result(self, run: Run, sha256: str, report: int | None, trouble: str) -> None:
        """Enter the report on these sources, or the trouble, for everyone who submitted them."""
        self._execute(
            "UPDATE entry SET report = ?, trouble = ? WHERE run = ? AND sha256 = ?", report, trouble, run.id, sha256
        )

    def count_grader_failures(self, run: Run) -> int:
        """Return how many attempts have sources but no gradable report."""
        (row,) = self._select(
            "SELECT count(*) AS number FROM entry LEFT JOIN report ON report.id = report WHERE run = ?"
            " AND entry.sha256 != '' AND (report IS NULL OR NOT gradable)",
            run.id,
        )
        return int(row["number"])

    def have_same_entries(self, one: Run, other: Run) -> bool:
        """Return whether two runs have exactly the same entries."""
        query = "SELECT * FROM entry WHERE run = ? ORDER BY student, attempt"
        first, second = ([_make_entry(row) for row in self._select(query, run.id)] for run in (one, other))
        return first == second

    # --- points, overrides ------------------------------------------------------------------------------------------

    def find_max_score(self, run: Run) -> float:
        """Return the maximum score in a run."""
        (row,) = self._select(
            "SELECT max(max_score) AS most FROM report JOIN entry ON report.id = report WHERE run = ?", run.id
        )
        return float(row["most"] or 0)

    def list_check_points(self, run: Run) -> dict[str, float]:
        """Return the points of each check in a run, in order."""
        rows = self._select(
            "SELECT verdict.id, max(verdict.max_score) AS most FROM verdict JOIN entry ON entry.report = verdict.report"
            " WHERE run = ? GROUP BY verdict.id ORDER BY position",
            run.id,
        )
        return {row["id"]: row["most"] for row in rows}

    def list_overrides(self, student: Student, at: str | None = None) -> dict[str, Override]:
        """Return a student's overrides by target, as of ``at`` or as of now; the last one for each target applies."""
        rows = self._select(
            "SELECT * FROM override WHERE student = ? AND (? IS NULL OR at <= ?) ORDER BY id", *(student.id, at, at)
        )
        last = {row["what"]: row for row in rows}
        return {
            target: Override(row["points"], row["reason"], row["who"], row["at"])
            for target, row in last.items()
            if row["points"] is not None
        }

    def add_override(self, student: Student, target: str, points: float | None, reason: str, who: str) -> None:
        """Record the points set for a target; None removes an earlier override."""
        self._execute(
            "INSERT INTO override (student, what, points, reason, who, at) VALUES (?,?,?,?,?,?)",
            *(student.id, target, points, reason, who, _timestamp()),
        )

    def rename_checks(self, renamed: Mapping[str, str]) -> None:
        """Rename checks in verdicts and overrides, so that overrides survive; ``renamed`` maps old ids to new."""
        for old, new in renamed.items():
            self._execute("UPDATE verdict SET id = ? WHERE id = ?", new, old)
            self._execute("UPDATE override SET what = ? WHERE what = ?", new, old)

    # --- exports, pages, settings -----------------------------------------------------------------------------------

    def record_export(self, run: Run, form: str, target: str, scores: Mapping[int, float]) -> None:
        """Record that the scores of a run were exported, by student id."""
        number = self._insert(
            "INSERT INTO export (at, format, target, run) VALUES (?,?,?,?)", _timestamp(), form, target, run.id
        )
        self._execute_many(
            "INSERT INTO exported VALUES (?,?,?)", [(number, student, score) for student, score in scores.items()]
        )

    def find_exported_score(self, student: Student) -> float | None:
        """Return the student's last exported score, or None."""
        row = self._select_first(
            "SELECT score FROM exported WHERE student = ? ORDER BY export DESC LIMIT 1", student.id
        )
        return float(row["score"]) if row is not None else None

    def read_page_hash(self, student: Student) -> str:
        """Return the hash of the inputs from which a student's page was rendered, or ""."""
        row = self._select_first("SELECT made_of FROM page WHERE student = ?", student.id)
        return str(row["made_of"]) if row is not None else ""

    def save_page_hash(self, student: Student, digest: str) -> None:
        """Remember the hash of the inputs from which a student's page was rendered."""
        self._execute("INSERT OR REPLACE INTO page VALUES (?, ?)", student.id, digest)

    @property
    def is_anonymous(self) -> bool:
        """Return whether names are hidden in pages and output."""
        row = self._select_first("SELECT value FROM setting WHERE name = 'anonymous'")
        return row is not None and row["value"] == "yes"

    def set_anonymous(self, anonymous: bool) -> None:
        """Hide names in pages and output from now on, or show them again."""
        self._execute("INSERT OR REPLACE INTO setting VALUES ('anonymous', ?)", "yes" if anonymous else "no")


def _timestamp() -> str:
    """Return the time in UTC, to the microsecond."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


# --- rows as values ---------------------------------------------------------------------------------------------------


def _make_student(row: sqlite3.Row) -> Student:
    return Student(row["id"], row["alias"], row["name"], bool(row["on_roster"]))


def _make_run(row: sqlite3.Row) -> Run:
    key = ReportKey(row["grader"], row["rubric"], row["seed"])
    finished = row["finished"] or ""
    return Run(row["id"], row["kind"], row["state"], row["started"], finished, row["source"], row["note"], key)


def _make_entry(row: sqlite3.Row) -> Entry:
    return Entry(
        student=row["student"],
        attempt=row["attempt"],
        latest=bool(row["latest"]),
        submitted=row["submitted"],
        partners=row["partners"],
        sha256=row["sha256"],
        trouble=row["trouble"],
        report=row["report"],
    )


def _make_report(row: sqlite3.Row) -> StoredReport:
    return StoredReport(
        id=row["id"],
        sha256=row["sha256"],
        environment=row["environment"],
        document=row["document"],
        gradable=bool(row["gradable"]),
        max_score=row["max_score"],
        graded=row["graded"],
    )


def _make_verdict(row: sqlite3.Row) -> StoredVerdict:
    verdict = Verdict(
        id=row["id"],
        criterion=row["criterion"],
        title=row["title"],
        status=row["status"],
        score=row["score"],
        max_score=row["max_score"],
        message=row["message"],
        diagnosis=tuple(Diagnosis(**one) for one in json.loads(row["diagnosis"])),
    )
    return StoredVerdict(verdict, bool(row["bonus"]))
