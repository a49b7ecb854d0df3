"""Draw the handout's pictures as SVG: readable at 390 px, light and dark, in files of their own and inside the page."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence

from autograder.assignment.oracle import parameter_count
from autograder.assignment.sizes import SIZES

STYLE = """\
.pic text { font: 14px system-ui, sans-serif; fill: #1c1e21; }
.pic .quiet { fill: #5a6169; }
.pic .small { font-size: 12.5px; }
.pic .box { fill: #f4f6f8; stroke: #5a6169; }
.pic .line { fill: none; stroke: #5a6169; stroke-width: 1.5; }
.pic .thick { fill: none; stroke: #0b5c7a; stroke-width: 4; }
.pic .ink { fill: #0b5c7a; }
.pic .one { fill: none; stroke: #0b5c7a; stroke-width: 2.5; }
.pic .two { fill: none; stroke: #a2461b; stroke-width: 2.5; }
.pic .soft { fill: #0b5c7a; fill-opacity: .12; stroke: #0b5c7a; }
.pic .head { fill: #5a6169; stroke: none; }
.pic .second { fill: #a2461b; stroke: none; }
@media (prefers-color-scheme: dark) { @media not print {
.pic text { fill: #e8eaed; } .pic .quiet { fill: #a3abb3; }
.pic .box { fill: #212529; stroke: #a3abb3; } .pic .line { stroke: #a3abb3; }
.pic .thick, .pic .one { stroke: #74c7e6; } .pic .ink { fill: #74c7e6; } .pic .two { stroke: #f0a27a; }
.pic .soft { fill: #74c7e6; stroke: #74c7e6; } .pic .head { fill: #a3abb3; } .pic .second { fill: #f0a27a; }
} }
"""
HEAD = (
    '<marker id="{0}" viewBox="0 0 10 10" refX="9" refY="5" markerUnits="userSpaceOnUse" markerWidth="11" '
    'markerHeight="11" orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" class="{1}"/></marker>'
)

N = SIZES.course
T = 6  # positions in the picture of the mask


def draw_block(_: str) -> str:
    """Draw a block as a residual stream with two branches, with shapes and numbers of parameters."""
    parts = parameter_count.parts(N.V, N.T_max, N.d, N.L)
    attention, mlp = parts["attention"] // N.L, parts["mlp"] // N.L
    drawn = [_arrow("block-in", "thick", "M50 34V386")]
    drawn += [
        _text(50, 22, "X", "middle"),
        _text(66, 22, "(B, T, d)", css="quiet small"),
        _text(50, 404, "Z", "middle"),
    ]
    rows = (("LayerNorm", 2 * N.d, "MultiHeadAttention", attention), ("LayerNorm", 2 * N.d, "MLP", mlp))
    for number, (norm, norm_count, layer, count) in enumerate(rows):
        top = 50 + 170 * number
        drawn += [
            _arrow("block-line", "line", f"M50 {top}H130"),
            _box(132, top - 18, 250, 36, norm, f"{norm_count:,}"),
            _arrow("block-line", "line", f"M257 {top + 18}V{top + 50}"),
            _box(132, top + 52, 250, 36, layer, f"{count:,}"),
            _arrow("block-line", "line", f"M257 {top + 88}V{top + 120}H64"),
            _text(267, top + 39, "(B, T, d)", css="quiet small"),
            _text(140, top + 113, "add to the stream", css="quiet small"),
            f'<circle class="box" cx="50" cy="{top + 120}" r="12"/>',
            _text(50, top + 125, "+", "middle"),
        ]
    drawn.append(_text(22, 200, "Y", "middle"))
    return _svg("block", 400, 412, drawn)


def draw_mask(_: str) -> str:
    """Draw the causal mask: which positions each position may attend to."""
    size, left, top = 38, 96, 56
    drawn = [_text(left + T * size / 2, 20, "key: position attended to", "middle", "quiet small")]
    drawn.append(_text(left - 12, 40, "query", "end", "quiet small"))
    for t in range(T):
        y = top + t * size
        drawn += [_text(left + t * size + size / 2, 46, str(t), "middle"), _text(left - 14, y + 25, str(t), "end")]
        for s in range(T):
            x = left + s * size
            drawn.append(
                f'<rect class="{"soft" if s <= t else "box"}" x="{x}" y="{y}" width="{size}" height="{size}"/>'
            )
            drawn.append(
                _text(x + size / 2, y + 24, "✓" if s <= t else "\u2212∞", "middle", "" if s <= t else "quiet small")
            )
    return _svg("mask", left + T * size + 12, top + T * size + 10, drawn)


def draw_heads(_: str) -> str:
    """Draw how the outputs of the heads are concatenated, then mixed by the output projection."""
    width, gap, left = 84, 12, 14
    whole = N.H * width
    drawn = [_text(left + (whole + 3 * gap) / 2, 20, "X (B, T, d)", "middle")]
    for h in range(N.H):
        x = left + h * (width + gap)
        y = left + gap * 1.5 + h * width
        drawn += [
            _arrow("heads-line", "line", f"M{left + (whole + 3 * gap) / 2} 28L{x + width / 2} 56"),
            f'<rect class="soft" x="{x}" y="58" width="{width}" height="40" rx="4"/>',
            _text(x + width / 2, 83, f"head {h + 1}", "middle"),
            _text(x + width / 2, 116, "(B, T, d_head)", "middle", "quiet small"),
            _arrow("heads-line", "line", f"M{x + width / 2} 122L{y + width / 2} 150"),
            f'<rect class="soft" x="{y}" y="152" width="{width}" height="34"/>',
            _text(y + width / 2, 174, "d_head", "middle", "small"),
        ]
    middle = left + gap * 1.5 + whole / 2
    drawn += [
        _text(middle, 206, "concatenated: (B, T, H · d_head) = (B, T, d)", "middle", "quiet small"),
        _arrow("heads-line", "line", f"M{middle} 214V238"),
        _box(middle - 105, 240, 210, 36, "output projection", ""),
        _arrow("heads-line", "line", f"M{middle} 276V300"),
        _text(middle, 318, "(B, T, d)", "middle"),
    ]
    return _svg("heads", int(left * 2 + whole + 3 * gap), 328, drawn)


def draw_layer_norm(_: str) -> str:
    """Draw LayerNorm of a vector with d = 3: onto the plane of mean zero, then onto a circle in it."""
    scale, centre = 70.0, (196.0, 190.0)
    across, up = (1 / math.sqrt(2), -1 / math.sqrt(2), 0.0), (1 / math.sqrt(6), 1 / math.sqrt(6), -2 / math.sqrt(6))
    tilt = 0.42  # how much of the plane's second axis is seen

    def place(v: Sequence[float]) -> tuple[float, float]:
        mean = sum(v) / 3
        a, b = (sum(x * y for x, y in zip(v, axis, strict=True)) for axis in (across, up))
        return centre[0] + scale * a, centre[1] - scale * (tilt * b + mean * math.sqrt(3) * 0.9)

    u = (2.1, 0.4, 1.1)
    mean = sum(u) / 3
    projected = tuple(x - mean for x in u)
    length = math.sqrt(sum(x * x for x in projected))
    normed = tuple(math.sqrt(3) * x / length for x in projected)
    (ux, uy), (px, py), (nx, ny) = map(place, (u, projected, normed))
    radius = math.sqrt(3) * scale
    wide = 2.5 * scale
    corners = [(-wide, -tilt * wide), (wide - 60, -tilt * wide), (wide, tilt * wide), (-wide + 60, tilt * wide)]
    plane = " ".join(f"{centre[0] + x:.0f},{centre[1] + y:.0f}" for x, y in corners)
    ones = place((0.95, 0.95, 0.95))
    drawn = [
        f'<polygon class="box" points="{plane}"/>',
        f'<ellipse class="one" cx="{centre[0]}" cy="{centre[1]}" rx="{radius:.0f}" ry="{radius * tilt:.0f}"/>',
        _arrow("layer_norm-line", "line", f"M{centre[0]} {centre[1]}L{ones[0]:.0f} {ones[1]:.0f}", is_dashed=True),
        _text(ones[0] - 8, ones[1] + 4, "1", "end"),
        _arrow("layer_norm-line", "line", f"M{centre[0]} {centre[1]}L{ux:.0f} {uy:.0f}"),
        _text(ux + 8, uy, "u"),
        _arrow("layer_norm-two", "two", f"M{ux:.0f} {uy:.0f}L{px:.0f} {py:.0f}"),
        _text(ux + 10, (uy + py) / 2 - 18, "1. subtract the mean", css="small"),
        _arrow("layer_norm-two", "two", f"M{px:.0f} {py:.0f}L{nx:.0f} {ny:.0f}"),
        _text(px - 14, py + 26, "2. scale to length √d", "middle", "small"),
        f'<circle class="ink" cx="{nx:.0f}" cy="{ny:.0f}" r="5"/>',
        _text(26, centre[1] + tilt * wide + 20, "plane of vectors with mean 0; circle of radius √3", css="quiet small"),
    ]
    return _svg("layer_norm", 440, 300, drawn)


def draw_loss(measured: str) -> str:
    """Draw the measured loss of 50 steps on one batch."""
    losses = json.loads(measured)["losses"]
    left, bottom, right, top = 46, 200, 420, 16
    most = 4.5

    def place(step: int, loss: float) -> str:
        return f"{left + (right - left) * step / (len(losses) - 1):.1f},{bottom - (bottom - top) * loss / most:.1f}"

    chance = math.log(N.V)
    y = place(0, chance).split(",")[1]
    drawn = [f'<path class="line" d="M{left} {top}V{bottom}H{right}"/>']
    drawn += [_text(left - 8, float(place(0, loss).split(",")[1]) + 5, str(loss), "end", "small") for loss in range(5)]
    drawn += [_text(float(place(s, 0).split(",")[0]), bottom + 18, str(s), "middle", "small") for s in range(0, 51, 10)]
    drawn += [
        f'<path class="line" stroke-dasharray="4 4" d="M{left} {y}H{right}"/>',
        _text(right, float(y) - 6, f"ln {N.V} = {chance:.3f}", "end", "quiet small"),
        _text((left + right) / 2, bottom + 36, "step", "middle", "quiet small"),
        _text(left + 8, top + 4, "loss", css="quiet small"),
        f'<polyline class="one" points="{" ".join(place(s, loss) for s, loss in enumerate(losses))}"/>',
    ]
    return _svg("loss", 432, 244, drawn)


def draw_influence(measured: str) -> str:
    """Draw how much each position's logits change with each token, as measured."""
    matrix = json.loads(measured)["influence"]
    size, left, top = 18, 60, 44
    count, largest = len(matrix), max(map(max, matrix))
    drawn = [_text(left + count * size / 2, 18, "token changed", "middle", "quiet small")]
    drawn.append(_text(left - 10, 34, "logits at", "end", "quiet small"))
    for t, row in enumerate(matrix):
        y = top + t * size
        if t % 5 == 0:
            drawn += [
                _text(left + t * size + size / 2, 36, str(t), "middle", "small"),
                _text(left - 10, y + 14, str(t), "end", "small"),
            ]
        for s, value in enumerate(row):
            if value:
                strength = 0.15 + 0.85 * math.sqrt(value / largest)
                drawn.append(
                    f'<rect class="ink" fill-opacity="{strength:.2f}" x="{left + s * size}" y="{y}" width="{size}" '
                    f'height="{size}"/>'
                )
    drawn.append(f'<rect class="line" x="{left}" y="{top}" width="{count * size}" height="{count * size}"/>')
    return _svg("influence", left + count * size + 12, top + count * size + 12, drawn)


PICTURES: dict[str, Callable[[str], str]] = {
    "block": draw_block,
    "mask": draw_mask,
    "heads": draw_heads,
    "layer_norm": draw_layer_norm,
    "loss": draw_loss,
    "influence": draw_influence,
}


def _svg(name: str, width: int, height: int, drawn: list[str]) -> str:
    heads = "".join(
        HEAD.format(f"{name}-{kind}", css) for kind, css in (("line", "head"), ("in", "ink"), ("two", "second"))
    )
    lines = "\n".join(drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="pic" viewBox="0 0 {width} {height}" width="{width}">\n'
        f"<style>\n{STYLE}</style>\n<defs>{heads}</defs>\n{lines}\n</svg>\n"
    )


def _arrow(head: str, css: str, path: str, is_dashed: bool = False) -> str:
    dashes = ' stroke-dasharray="4 4"' if is_dashed else ""
    return f'<path class="{css}"{dashes} d="{path}" marker-end="url(#{head})"/>'


def _text(x: float, y: float, text: str, anchor: str = "start", css: str = "") -> str:
    kind = f' class="{css}"' if css else ""
    place = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text{kind} x="{x:g}" y="{y:g}"{place}>{text}</text>'


def _box(x: float, y: float, width: float, height: float, text: str, count: str) -> str:
    box = f'<rect class="box" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5"/>'
    if not count:
        return box + _text(x + width / 2, y + height / 2 + 5, text, "middle")
    return (
        box
        + _text(x + 10, y + height / 2 + 5, text)
        + _text(x + width - 10, y + height / 2 + 5, count, "end", "quiet small")
    )
