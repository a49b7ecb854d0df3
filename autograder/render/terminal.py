"""Print a report on one screen: points per criterion, the first cause to fix, the other causes, the score.

``listing`` prints every check instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from autograder.grading.causes import UNDONE, Cause, find_causes
from autograder.grading.report import NO_GRADE, CriterionFacts, Location, NotImplementedEntry, Report, Status, Verdict

MARKS: dict[Status, tuple[str, str, str]] = {  # status: sign, ASCII sign, style
    "passed": ("✓", "ok", "green"),
    "partial": ("◐", "half", "yellow"),
    "failed": ("✗", "no", "red"),
    "not_implemented": ("·", "todo", "cyan"),
    "blocked": ("·", "wait", "cyan"),
    "timeout": ("✗", "time", "red"),
    "crashed": ("✗", "died", "red"),
    "skipped": ("-", "skip", "dim"),
    "error": ("!", "ERR", "bold red"),
}
WIDTH = 96  # columns; wider lines are hard to read
HEIGHT = 24  # lines of the smallest usual terminal
NARROW = 72  # columns below which descriptions are left out
MAX_SNIPPET = 3  # lines of code
MAX_NOTES = 2
MIN_OTHERS = 3  # lines kept for other causes, even if the first one is shortened
INDENT = 3  # columns before the text of a cause


@dataclass(frozen=True, slots=True)
class Progress:
    """Facts about the student's earlier runs and other work, shown around the report."""

    change: str = ""  # since the last run
    hints: Collection[str] = ()  # the criteria whose hints are shown
    page: str = ""  # the file with every check
    left: tuple[str, ...] = ()  # work that no check grades
    next_step: str = ""  # once every check passes


def show(report: Report, console: Console, progress: Progress | None = None) -> None:
    """Print ``report`` on at most HEIGHT lines of WIDTH columns."""
    width = min(console.width, WIDTH)
    page = Page(report, progress or Progress(), width, console.encoding.lower().startswith("utf"))
    print_lines((line for line in page.compose()), console)


def print_lines(lines: Iterable[Text], console: Console) -> None:
    """Print ``lines`` without trailing blanks, in signs that the console can show."""
    with console.capture() as capture:
        for line in lines:
            console.print(line, no_wrap=True, overflow="ignore", crop=False, soft_wrap=True)
    text = "".join(f"{line.rstrip()}\n" for line in capture.get().removesuffix("\n").split("\n"))
    console.file.write(text.encode(console.encoding, "replace").decode(console.encoding))


class Page:
    """The lines of the first screen."""

    def __init__(self, report: Report, progress: Progress, width: int, has_signs: bool) -> None:
        self.report, self.progress, self.width, self.has_signs = report, progress, width, has_signs
        ran = [check for check in report.checks if check.status != "skipped"]
        bonus = {criterion.id for criterion in report.criteria if criterion.bonus}
        self.criteria = [
            (criterion, checks)
            for criterion in report.criteria
            if (checks := [check for check in ran if check.criterion == criterion.id])
            and not (criterion.id in bonus and all(check.status in UNDONE for check in checks))
        ]
        self.causes = find_causes(report)
        self.is_whole = len(ran) == len(report.checks)
        self.is_begun = any(check.status not in UNDONE for check in ran)

    def compose(self) -> list[Text]:
        """Return the lines."""
        if not self.is_begun and self.report.not_implemented and self.causes:
            return self._compose_first_steps()
        top = [self._format_criterion(criterion, checks) for criterion, checks in self.criteria]
        last = [Text(), *self._format_last_line()]
        notes = self._format_notes()
        room = HEIGHT - len(top) - len(last) - len(notes) - 1
        failing = [cause for cause in self.causes if not cause.is_undone]
        middle = self._format_causes(failing, room) if failing else self._format_next()
        return [*top, Text(), *notes, *middle[:room], *last]

    # --- criteria ---------------------------------------------------------------------------------------------------

    def _format_criterion(self, criterion: CriterionFacts, checks: list[Verdict]) -> Text:
        """Return the line of a criterion: sign, title, task, how many checks fail, points."""
        score, most = sum(check.score for check in checks), sum(check.max_score for check in checks)
        status = _summarise_status(checks)
        points = f"{score:g} / {most:g}"
        title = f"{criterion.title} (bonus)" if criterion.bonus else criterion.title
        task = criterion.task.removeprefix("task ")
        note = _describe_failures(checks)
        left = Text.assemble(" ", self._mark(status), " ", _fit(title, 29))
        if self.width >= NARROW:
            left.append(_fit(task, 16), "dim")
        if self.width >= NARROW - 10:
            left.append(note)
        return self._join(left, Text(points, MARKS[status][2]))

    def _mark(self, status: Status) -> Text:
        sign, ascii_sign, style = MARKS[status]
        return Text(sign if self.has_signs else f"{ascii_sign:4}", style)

    # --- causes -----------------------------------------------------------------------------------------------------

    def _format_causes(self, failing: list[Cause], room: int) -> list[Text]:
        """Return the first cause in full, below one line for each other cause, on at most ``room`` lines."""
        first, others = failing[0], failing[1:]
        undone = [cause for cause in self.causes if cause.is_undone]
        rows = len(others) + bool(undone)
        block = self._format_first(first, not rows, room - min(rows, MIN_OTHERS + bool(undone)))
        spare = room - sum(not is_gap for _, is_gap in block)
        lines: list[Text] = []
        if undone and spare:
            names = ", ".join(dict.fromkeys(_name_definition(cause) for cause in undone))
            lines.append(self._cut(Text.assemble(" ", self._mark("not_implemented"), f"  Not implemented: {names}")))
        room_for_others = spare - len(lines)
        shown = others if len(others) <= room_for_others else others[: max(0, room_for_others - 1)]
        for number, cause in enumerate(shown, 2):
            lines.insert(0, self._format_other(number, cause))
        if len(shown) < len(others):
            rest = others[len(shown) :]
            lines.insert(0, self._cut(Text(f" ...  {_count(len(rest), 'more cause')}, {_sum_points(rest)}")))
        if others and len(lines) < spare:
            lines.insert(0, Text(f" {len(failing)} causes; start with the one at the bottom:"))
        if lines and len(lines) < spare:
            lines.append(Text())
        gaps = spare - len(lines)
        for line, is_gap in block:
            if not is_gap or gaps > 0:
                lines.append(line)
            gaps -= is_gap
        return lines

    def _format_other(self, number: int, cause: Cause) -> Text:
        """Return the line of a cause that comes later."""
        place = _describe_place(cause.location)
        points = _sum_points([cause]) if cause.points else ""
        text = f" {number:<2} {_fit(place, 34) if self.width >= NARROW else place}  "
        room = self.width - cell_len(text) - len(points) - 2
        if room > 12:
            text += _cut_cells(_shorten(cause), room)
        return self._join(Text(text), Text(points))

    def _format_first(self, cause: Cause, is_only: bool, room: int) -> list[tuple[Text, bool]]:
        """Return the lines of the first cause, each with whether it is a gap that can be left out.

        Place, code, reason, and the command that grades this part alone, on at most ``room`` lines besides the gaps.
        """
        check, place = cause.main, cause.location
        title = check.title if place is None else _describe_place(place)
        head = [self._cut(Text.assemble((" Fix first: ", "bold"), title))]
        snippet = self._format_snippet(place) if place is not None else []
        has_hint = check.criterion in self.progress.hints and check.hint
        message = f"{check.message} {check.hint}" if has_hint else check.message
        why = self._wrap(message or f"{check.title}.", INDENT)
        below = self._format_scope(cause, is_only)
        extra = len(head) + len(snippet) + len(why) + len(below) - room
        if extra > 0 and len(snippet) > 1 and not (place and place.column):
            snippet = snippet[: max(1, len(snippet) - extra)]
            extra = len(head) + len(snippet) + len(why) + len(below) - room
        if extra > 0:
            why = why[: max(1, len(why) - extra)]
        gap = [(Text(), True)]
        parts = [[(line, False) for line in part] for part in (head, snippet, why, below)]
        return [line for number, part in enumerate(parts) if part for line in (*(gap if number else []), *part)]

    def _format_snippet(self, place: Location) -> list[Text]:
        """Return the line of code with a caret below it; of a definition, the lines that follow as well."""
        if not place.text.strip():
            return []
        digits = len(str(place.line + MAX_SNIPPET))
        start = place.line - place.first
        lines = [(place.line, place.text)]
        if place.text.lstrip().startswith(("def ", "class ")) and not place.raised:
            following = [(n, text) for n, text in enumerate(place.source[start + 1 :], place.line + 1) if text.strip()]
            lines += following[: MAX_SNIPPET - 1]
        head = 4 + digits + 3
        room = self.width - head
        indent = min(len(text) - len(text.lstrip()) for _, text in lines)
        # Long lines lose their indentation first.
        drop = indent if max(cell_len(text) for _, text in lines) > room else 0
        shown = [Text(f"    {n:>{digits}} | {_cut_cells(text[drop:], room)}") for n, text in lines]
        if place.column:
            first, last = place.column - 1 - drop, place.end_column - 1 - drop
            before, marked = place.text[drop : drop + first], place.text[drop + first : drop + last]
            blank = "".join("\t" if c == "\t" else " " * cell_len(c) for c in before)
            if cell_len(blank) + 1 < room:
                carets = "^" * min(cell_len(marked), room - cell_len(blank))
                shown.append(Text.assemble(f"    {'':{digits}} | {blank}", (carets, "bold red")))
        return shown

    def _format_scope(self, cause: Cause, is_only: bool) -> list[Text]:
        """Return how much the cause explains, and the command for its criterion."""
        number = sum(len(one.checks) for one in self.causes if one.other is None)
        text = ""
        if len(cause.checks) > 1:
            all_ = is_only and len(cause.checks) == number
            text = f"{'All ' if all_ else ''}{len(cause.checks)} failing checks have this cause. "
        command = f'make grade ARGS="--only {cause.main.criterion}"'
        line = f"{text}This part alone: {command}"
        return [Text(" " * INDENT + line)] if INDENT + len(line) <= self.width else self._wrap(line, INDENT)

    # --- around the causes ------------------------------------------------------------------------------------------

    def _format_next(self) -> list[Text]:
        """Return the next definition to implement, or, if there is none, what is left besides the checks."""
        if self.report.not_implemented and self.causes:
            entry = self.report.not_implemented[0]
            waiting = next((one for one in self.causes if _name_definition(one) == entry.name), None)
            where = waiting.location.where if waiting and waiting.location else entry.name
            is_part = "." in where and not where.endswith("__init__")  # the description is that of the whole class
            text = f"Next: {where} ({entry.task}), {_place(entry)}{'' if is_part else f': {entry.description}'}."
            command = f'make grade ARGS="--only {self._find_criterion(entry.name)}"'
            return [*self._wrap(text, 1), *self._wrap(f"This part alone: {command}", 1)]
        if self.causes:
            return self._wrap(self.causes[0].main.message, 1)
        if not self.is_whole or len(self.report.criteria) == 1:
            return [Text(" Every check of this part passes.")]
        left = [*self.progress.left, *self._list_optional()]
        lines = [Text(f" Every automatic check passes.{' Left:' if left else ''}")]
        lines += [self._cut(Text(f"   {line}")) for line in left]
        if self.progress.next_step:
            lines += [Text(), Text(f" Then: {self.progress.next_step}")]
        return lines

    def _list_optional(self) -> list[str]:
        """Return one line for the optional definitions that are not implemented."""
        bonus = {criterion.id for criterion in self.report.criteria if criterion.bonus}
        places = [c.location for c in self.report.checks if c.criterion in bonus and c.status in UNDONE and c.location]
        names = dict.fromkeys(f"{one.where.partition('.')[0]} ({one.place})" for one in places)
        return [f"optional: {', '.join(names)}"] if names else []

    def _format_notes(self) -> list[Text]:
        """Return warnings about the whole submission and about the grading, one line each."""
        report = self.report
        explained = [cause.main.message for cause in self.causes if cause.main.message]
        notes = [
            Text(f" Note: {warning}", "yellow")
            for warning in report.warnings
            if not any(message in warning for message in explained)
        ]
        if len(notes) > MAX_NOTES:
            notes = [*notes[: MAX_NOTES - 1], Text(f" {len(notes) - MAX_NOTES + 1} more notes.", "yellow")]
        lines = [self._cut(note) for note in notes]
        if report.provenance.accepted_risks:
            could = ", ".join(report.provenance.accepted_risks)
            lines += self._wrap(f"Graded in a weaker sandbox (risk accepted): student code could {could}.", 1)
        if not report.gradable:
            lines.append(self._cut(Text(f" {NO_GRADE}", "bold red")))
        return lines

    def _format_last_line(self) -> list[Text]:
        """Return the score, its change since the last run, and where to read more."""
        report = self.report
        score = f" {report.score:g} / {report.max_score:g} points" if report.max_score else ""
        bonus = f" + {report.bonus:g} bonus" if report.bonus or not score else ""
        bonus = bonus if score else f" {bonus.removeprefix(' + ')} points"
        change = f"   {self.progress.change}" if self.progress.change else ""
        left = Text.assemble((f"{score}{bonus}", "bold"), change)
        right = f"each check and its reason: {self.progress.page}" if self.progress.page else ""
        if cell_len(left.plain) + len(right) + 2 <= self.width:
            return [self._join(left, Text(right, "dim"))]
        lines = [self._cut(left)]
        return [self._cut(Text(f" {right}", "dim")), *lines] if right else lines

    def _compose_first_steps(self) -> list[Text]:
        """Return what to implement, in the order of the handout, for a submission that has only stubs."""
        report = self.report
        waiting = {_name_definition(cause) for cause in self.causes}
        asked = tuple(entry for entry in report.not_implemented if waiting & {entry.name, entry.file})
        entries = report.not_implemented if self.is_whole else asked or report.not_implemented
        lines = [*self._format_notes(), self._join(Text(" To write, in the order of the handout"), Text(self._score()))]
        lines.append(Text())
        labels = [entry.task.removeprefix("task ") for entry in entries]
        widths = [max(map(len, column)) + 2 for column in (labels, [e.name for e in entries], map(_place, entries))]
        for number, (label, entry) in enumerate(zip(labels, entries, strict=True)):
            again = number and label == labels[number - 1]
            row = Text.assemble(
                " ",
                _fit("" if again else label, widths[0]),
                (_fit(entry.name, widths[1]), "bold"),
                (_fit(_place(entry), widths[2]), "cyan"),
            )
            if self.width >= NARROW:
                row.append(entry.description)
            lines.append(self._cut(row))
        lines += [self._cut(Text(f" {_fit('by hand', widths[0])}{line}")) for line in self.progress.left]
        first = entries[0]
        start = f"Start with {first.name} ({_place(first)}): replace `raise NotImplementedError()`, then run"
        command = f'make grade ARGS="--only {self._find_criterion(first.name)}"'
        lines += [Text(), *self._wrap(start, 1), Text(f"     {command}")]
        other = next((entry for entry in entries if entry.file != first.file), None)
        if other is not None:
            text = f"Or start with the code, at {other.name} ({_place(other)}): each class counts by itself."
            lines += self._wrap(text, 1)
        return lines[:HEIGHT]

    def _find_criterion(self, name: str) -> str:
        """Return the criterion of the first check that waits for the definition ``name``."""
        found = (one.main.criterion for one in self.causes if one.is_undone and _name_definition(one) == name)
        return next(found, self.report.checks[0].criterion)

    def _score(self) -> str:
        return f"{self.report.score:g} / {self.report.max_score:g} points"

    # --- lines ------------------------------------------------------------------------------------------------------

    def _join(self, left: Text, right: Text) -> Text:
        """Return one line with ``left`` and ``right`` at its two ends."""
        left = self._cut(left, cell_len(right.plain) + 1 if right.plain else 0)
        gap = self.width - cell_len(left.plain) - cell_len(right.plain)
        return Text.assemble(left, " " * gap, right)

    def _cut(self, line: Text, reserved: int = 0) -> Text:
        """Return ``line`` cut to the width, less ``reserved`` columns."""
        room = self.width - reserved
        if cell_len(line.plain) <= room:
            return line
        line = line.copy()
        line.truncate(room, overflow="ellipsis" if self.has_signs else "crop")
        return line

    def _wrap(self, text: str, indent: int) -> list[Text]:
        """Return ``text`` as lines that begin with ``indent`` blanks."""
        console = Console(width=self.width)
        lines = Text(" ".join(text.split())).wrap(console, self.width - indent)
        return [Text(" " * indent + line.plain.rstrip()) for line in lines]


def _summarise_status(checks: list[Verdict]) -> Status:
    """Return the status that stands for a whole criterion."""
    statuses = [check.status for check in checks]
    if "error" in statuses:
        return "error"
    if all(status == "passed" for status in statuses):
        return "passed"
    if sum(check.score for check in checks):
        return "partial"
    failed = [status for status in statuses if status not in UNDONE]
    return failed[0] if failed else "not_implemented" if "not_implemented" in statuses else "blocked"


def _describe_failures(checks: list[Verdict]) -> str:
    """Return how many checks of a criterion fail, or wait for a definition."""
    undone = [check for check in checks if check.status in UNDONE]
    failed = len([check for check in checks if check.status != "passed"]) - len(undone)
    of = f" of {len(checks)} check{'s' if len(checks) > 1 else ''}"
    if failed:
        return f"{failed}{of} fail{'s' if failed == 1 else ''}"
    if not undone:
        return ""
    if len(undone) == len(checks) and undone[0].status == "not_implemented":
        return "not implemented"
    return f"{len(undone)}{of} wait{'s' if len(undone) == 1 else ''}"


def _describe_place(place: Location | None) -> str:
    """Return a location for a headline: the method, and its line as editors read it."""
    if place is None:
        return ""
    return f"{place.where}, {place.place}" if place.where else place.place


def _name_definition(cause: Cause) -> str:
    """Return the definition that a cause waits for."""
    place = cause.location
    return place.where.partition(".")[0] or place.file if place else cause.main.title


def _shorten(cause: Cause) -> str:
    """Return a cause in a few words, for one line."""
    text = cause.headline
    call, raised, reason = text.partition(" raised ")
    text = reason if raised and "." not in call.partition("(")[0][-1:] else text
    return " ".join(text.split())


def _place(entry: NotImplementedEntry) -> str:
    return f"{entry.file}:{entry.line}" if entry.line else entry.file


def _sum_points(causes: Iterable[Cause]) -> str:
    points = sum(cause.points for cause in causes)
    return f"{points:g} point{'' if points == 1 else 's'}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _fit(text: str, width: int) -> str:
    """Return ``text`` in exactly ``width`` cells, or longer with one blank after it."""
    return set_cell_size(text, width) if cell_len(text) < width else f"{text} "


def _cut_cells(text: str, width: int) -> str:
    """Return ``text`` in at most ``width`` cells."""
    text = text.expandtabs(4)
    return text if cell_len(text) <= width else f"{set_cell_size(text, max(0, width - 3)).rstrip()}..."
