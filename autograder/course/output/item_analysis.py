"""Analyse a course's results: checks by failures, mistakes by students, groups with the same mistakes."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from autograder.course.gradebook.results import StudentResult
from autograder.grading.report import Report


@dataclass(slots=True)
class CheckItem:
    """The outcomes of one check over a course."""

    id: str
    title: str
    statuses: Counter[str] = field(default_factory=Counter)
    mistakes: Counter[str] = field(default_factory=Counter)
    points: float = 0
    max_points: float = 0
    tests: int = 0  # students whose own test was tried on wrong models
    missed: dict[str, list[str]] = field(default_factory=dict)  # by wrong model: the students whose test accepts it

    @property
    def not_passed(self) -> int:
        """Return how many students did not pass, grader errors excluded."""
        return sum(self.statuses.values()) - self.statuses["passed"] - self.statuses["error"]

    @property
    def models(self) -> list[tuple[str, list[str]]]:
        """Return the wrong models with the students whose test accepts them, most accepted first."""
        return sorted(self.missed.items(), key=lambda pair: -len(pair[1]))

    @property
    def share(self) -> float:
        """Return the share of the check's points that were awarded."""
        return self.points / self.max_points if self.max_points else 0.0


class ItemAnalysis:
    """Running statistics over students: counts and names, no verdicts. Overrides are included."""

    def __init__(self) -> None:
        self.messages: dict[str, str] = {}
        self.students = 0
        self.reasons: Counter[str] = Counter()
        self._checks: dict[str, CheckItem] = {}
        self._students_by_mistake: Counter[str] = Counter()
        self._groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
        self._scores: list[float] = []
        self._max_score = 100.0

    def add(self, result: StudentResult, name: str) -> None:
        """Add a student's attempt that counts, under the ``name`` that may be shown."""
        own = set()
        for verdict in result.verdicts:
            item = self._checks.setdefault(verdict.id, CheckItem(verdict.id, verdict.title))
            item.statuses[verdict.status] += 1
            item.points += verdict.score
            item.max_points += verdict.max_score
            for one in verdict.diagnosis:
                self.messages.setdefault(one.mistake, one.message)
                item.mistakes[one.mistake] += 1
                own.add(one.mistake)
        self.students += 1
        self._students_by_mistake.update(own)
        if own:
            self._groups[tuple(sorted(own))].append(name)
        if result.score is not None:
            self._scores.append(result.score)
            self._max_score = max(self._max_score, result.max_score)
        else:
            self.reasons[result.trouble] += 1

    def add_tests(self, report: Report, name: str) -> None:
        """Add which wrong models a student's own tests reject, after the student's result."""
        for verdict in report.checks:
            rejects = verdict.evidence.get("rejects", {})
            item = self._checks[verdict.id]
            item.tests += bool(rejects)
            for model, is_rejected in rejects.items():
                item.missed.setdefault(model, []).extend([] if is_rejected else [name])

    @property
    def checks(self) -> list[CheckItem]:
        """Return the checks, most failed first."""
        return sorted(self._checks.values(), key=lambda item: -item.not_passed)

    @property
    def mistakes(self) -> list[tuple[str, int]]:
        """Return the named mistakes with the number of students who made them, most frequent first."""
        return self._students_by_mistake.most_common()

    @property
    def groups(self) -> list[tuple[tuple[str, ...], list[str]]]:
        """Return groups of students whose code has exactly the same named mistakes."""
        shared = [(mistakes, names) for mistakes, names in self._groups.items() if len(names) > 1]
        return sorted(shared, key=lambda group: -len(group[1]))

    @property
    def graded(self) -> int:
        return len(self._scores)

    @property
    def mean(self) -> float | None:
        return sum(self._scores) / len(self._scores) if self._scores else None

    @property
    def median(self) -> float | None:
        ordered = sorted(self._scores)
        return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2 if ordered else None

    @property
    def histogram(self) -> list[tuple[str, int]]:
        """Return the counts of scores in ten equal bins, with full marks separate."""
        width = self._max_score / 10
        bins = Counter(10 if score >= self._max_score else int(score / width) for score in self._scores)
        labels = [f"{n * width:g}-{(n + 1) * width - 1:g}" for n in range(10)]
        return [(label, bins[n]) for n, label in enumerate([*labels, f"{self._max_score:g}"])]
