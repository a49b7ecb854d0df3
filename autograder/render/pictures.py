"""Draw a report's plots as inline SVG: self-contained, scalable, printable, each with a text alternative."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from markupsafe import Markup, escape

from autograder.grading.report import parse_numbers

LEVELS = 8  # shades of a heat map; drawing cells shade by shade keeps it to a few kB
WIDTH, HEIGHT = 360, 200
INFINITY = float("inf")
LEFT, BOTTOM = 44, 34  # room for the numbers on the axes


def draw_heatmap(matrix: Sequence[Sequence[float]], title: str, leaks: bool = False) -> Markup:
    """Draw a square matrix as a heat map. With ``leaks``, nonzero cells above the diagonal are marked."""
    T, matrix = len(matrix), [parse_numbers(row) for row in matrix]
    largest = max((value for row in matrix for value in row if value < INFINITY), default=0.0) or 1.0
    shades: dict[str, list[str]] = {}
    worst, count = 0.0, 0
    for t, row in enumerate(matrix):
        levels = []
        for s, value in enumerate(row):
            if leaks and s > t and value > 0:
                worst, count = max(worst, value), count + 1
                levels.append("leak")
            else:
                # The root makes weak entries visible.
                share = min(1.0, value / largest) ** 0.5 if value > 0 else 0.0
                levels.append(f"h{1 + int(share * (LEVELS - 1))}" if share else "")
        s = 0
        for level, run in groupby(levels):
            length = len(list(run))
            if level:
                shades.setdefault(level, []).append(f"M{s} {t}h{length}v1h-{length}z")
            s += length
    label = f"{title}: {T} by {T}, the largest value is {largest:.2g}."
    if leaks:
        label += f" {count} cells above the diagonal are not zero, the largest {worst:.2g}." if count else (
            " Everything above the diagonal is zero."
        )  # fmt: skip
    paths = "".join(f'<path class="{name}" d="{"".join(parts)}"/>' for name, parts in sorted(shades.items()))
    return Markup(
        f'<svg class="heat" role="img" viewBox="-0.5 -0.5 {T + 1} {T + 1}" aria-label="{escape(label)}">'
        f'<rect class="frame" x="0" y="0" width="{T}" height="{T}"/>{paths}</svg>'
    )


def draw_curve(values: Sequence[float], title: str, across: str, down: str) -> Markup:
    """Draw a line through values in order, with the range of both axes labelled."""
    values = parse_numbers(values)
    finite = [value for value in values if abs(value) < INFINITY]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    low, high = min(low, 0.0), high or 1.0
    steps = max(1, len(values) - 1)

    def place(n: int, value: float) -> str:
        x = LEFT + (WIDTH - LEFT - 8) * n / steps
        y = 8 + (HEIGHT - BOTTOM - 8) * (1 - (value - low) / ((high - low) or 1.0))
        return f"{x:.1f},{y:.1f}"

    points = [place(n, value) for n, value in enumerate(values) if abs(value) < INFINITY]
    label = f"{title}: from {values[0]:.3g} at {across} 0 to {values[-1]:.3g} at {across} {len(values) - 1}."
    bottom = HEIGHT - BOTTOM
    dots = "".join(f'<circle cx="{p.split(",")[0]}" cy="{p.split(",")[1]}" r="2.5"/>' for p in points)
    return Markup(
        f'<svg class="curve" role="img" viewBox="0 0 {WIDTH} {HEIGHT}" aria-label="{escape(label)}">'
        f'<path class="axis" d="M{LEFT} 4V{bottom}H{WIDTH - 4}"/>'
        f'<text x="{LEFT - 6}" y="14" text-anchor="end">{high:.3g}</text>'
        f'<text x="{LEFT - 6}" y="{bottom}" text-anchor="end">{low:.3g}</text>'
        f'<text x="{LEFT}" y="{HEIGHT - 18}">0</text>'
        f'<text x="{WIDTH - 8}" y="{HEIGHT - 18}" text-anchor="end">{len(values) - 1}</text>'
        f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 4}" text-anchor="middle">{escape(across)}</text>'
        f'<text transform="translate(12 {bottom / 2}) rotate(-90)" text-anchor="middle">{escape(down)}</text>'
        f'<polyline points="{" ".join(points)}"/>{dots}</svg>'
    )


def draw_bars(counts: Sequence[tuple[str, int]], title: str) -> Markup:
    """Draw a histogram: one bar per label, with its count above."""
    most = max((count for _, count in counts), default=0) or 1
    step = (WIDTH * 2) / max(1, len(counts))
    text = f"{title}: " + ", ".join(f"{label}: {count}" for label, count in counts if count)
    parts = []
    for n, (label, count) in enumerate(counts):
        height = (HEIGHT - 52) * count / most
        x, y = n * step, HEIGHT - 26 - height
        parts.append(f'<rect x="{x + step * 0.1:.1f}" y="{y:.1f}" width="{step * 0.8:.1f}" height="{height:.1f}"/>')
        middle = f'x="{x + step / 2:.1f}" text-anchor="middle"'
        parts.append(f'<text {middle} y="{HEIGHT - 8}">{escape(label)}</text>')
        if count:
            parts.append(f'<text {middle} y="{y - 5:.1f}">{count}</text>')
    return Markup(
        f'<svg class="bars" role="img" viewBox="0 0 {WIDTH * 2} {HEIGHT}" aria-label="{escape(text)}">'
        f"{''.join(parts)}</svg>"
    )
