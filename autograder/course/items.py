"""What a course got wrong: checks by how many failed, mistakes by how many made them, groups with the same ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from autograder.course.scores import Standing


@dataclass(slots=True)
class CheckItem:
    """How one check came out over a course."""

    id: str
    title: str
    statuses: Counter[str] = field(default_factory=Counter)
    mistakes: Counter[str] = field(default_factory=Counter)
    points: float = 0
    most: float = 0

    @property
    def lost(self) -> int:
        """How many did not pass, of those whose code was looked at."""
        return sum(self.statuses.values()) - self.statuses["passed"] - self.statuses["error"]

    @property
    def share(self) -> float:
        """The share of its points that were given."""
        return self.points / self.most if self.most else 0.0


class Analysis:
    """Told of one student after another, it keeps counts and names, no verdicts. What was set by hand counts so."""

    def __init__(self) -> None:
        self.sentences: dict[str, str] = {}
        self.students = 0
        self.reasons: Counter[str] = Counter()
        self._checks: dict[str, CheckItem] = {}
        self._made: Counter[str] = Counter()
        self._groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
        self._scores: list[float] = []
        self._most = 100.0

    def add(self, standing: Standing, name: str) -> None:
        """A student's attempt that counts, under the ``name`` that may be shown."""
        own = set()
        for verdict in standing.verdicts:
            item = self._checks.setdefault(verdict.id, CheckItem(verdict.id, verdict.title))
            item.statuses[verdict.status] += 1
            item.points += verdict.score
            item.most += verdict.max_score
            for one in verdict.diagnosis:
                self.sentences.setdefault(one.mistake, one.sentence)
                item.mistakes[one.mistake] += 1
                own.add(one.mistake)
        self.students += 1
        self._made.update(own)
        if own:
            self._groups[tuple(sorted(own))].append(name)
        if standing.score is not None:
            self._scores.append(standing.score)
            self._most = max(self._most, standing.max_score)
        else:
            self.reasons[standing.trouble] += 1

    @property
    def checks(self) -> list[CheckItem]:
        """The one that most did not pass comes first."""
        return sorted(self._checks.values(), key=lambda item: -item.lost)

    @property
    def mistakes(self) -> list[tuple[str, int]]:
        """Named mistakes and how many students made them."""
        return self._made.most_common()

    @property
    def groups(self) -> list[tuple[tuple[str, ...], list[str]]]:
        """Students whose code makes exactly the same named mistakes."""
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
        """Scores by tenths of what can be had; full marks stand by themselves."""
        width = self._most / 10
        bins = Counter(10 if score >= self._most else int(score / width) for score in self._scores)
        labels = [f"{n * width:g}-{(n + 1) * width - 1:g}" for n in range(10)]
        return [(label, bins[n]) for n, label in enumerate([*labels, f"{self._most:g}"])]
