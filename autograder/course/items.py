"""What a course got wrong: checks by how many failed, mistakes by how many made them, groups with the same ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
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


@dataclass(frozen=True, slots=True)
class Group:
    """Students whose code makes exactly the same named mistakes."""

    mistakes: tuple[str, ...]
    members: tuple[Standing, ...]


@dataclass(frozen=True, slots=True)
class Analysis:
    """All of it: checks by failures, mistakes by how often they were named, groups by size, scores by tens."""

    checks: tuple[CheckItem, ...]
    mistakes: tuple[tuple[str, int], ...]
    sentences: dict[str, str]
    groups: tuple[Group, ...]
    histogram: tuple[tuple[str, int], ...]
    mean: float | None
    median: float | None


def analysed(standings: Iterable[Standing]) -> Analysis:
    """The item analysis of a run. A check set by hand counts as it was set."""
    checks: dict[str, CheckItem] = {}
    sentences: dict[str, str] = {}
    made: Counter[str] = Counter()
    groups: dict[tuple[str, ...], list[Standing]] = defaultdict(list)
    scores: list[float] = []
    most = 100.0
    for standing in standings:
        own = set()
        for verdict in standing.verdicts:
            item = checks.setdefault(verdict.id, CheckItem(verdict.id, verdict.title))
            item.statuses[verdict.status] += 1
            item.points += verdict.score
            item.most += verdict.max_score
            for one in verdict.diagnosis:
                sentences.setdefault(one.mistake, one.sentence)
                item.mistakes[one.mistake] += 1
                own.add(one.mistake)
        made.update(own)
        if own:
            groups[tuple(sorted(own))].append(standing)
        if standing.score is not None:
            scores.append(standing.score)
            most = max(most, standing.max_score)
    scores.sort()
    shared = [Group(names, tuple(members)) for names, members in groups.items() if len(members) > 1]
    return Analysis(
        checks=tuple(sorted(checks.values(), key=lambda item: -item.lost)),
        mistakes=tuple(made.most_common()),
        sentences=sentences,
        groups=tuple(sorted(shared, key=lambda group: -len(group.members))),
        histogram=_histogram(scores, most),
        mean=sum(scores) / len(scores) if scores else None,
        median=(scores[(len(scores) - 1) // 2] + scores[len(scores) // 2]) / 2 if scores else None,
    )


def _histogram(scores: list[float], most: float) -> tuple[tuple[str, int], ...]:
    """Ten bins; full marks have one of their own."""
    width = most / 10
    bins = Counter(10 if score >= most else int(score / width) for score in scores)
    labels = [f"{n * width:g} to {(n + 1) * width:g}" for n in range(10)]
    labels = [label.replace(f" to {(n + 1) * width:g}", f"-{(n + 1) * width - 1:g}") for n, label in enumerate(labels)]
    return tuple((label, bins[n]) for n, label in enumerate([*labels, f"{most:g}"]))
