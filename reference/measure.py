"""Measure what the handout shows: what its examples print, the loss of 50 steps on one batch, the influence matrix.

    python -m reference.measure            write reference/measured.json

The numbers come from the reference model with fixed seeds; `tests/test_handout.py` measures them again.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from autograder.assignment.sizes import SIZES

HERE = Path(__file__).resolve().parent
MEASURED = HERE / "measured.json"
STEPS, RATE, ROWS = 50, 1e-3, 16
POSITIONS = 16  # in the influence matrix
EXAMPLE = re.compile(r'^```python id="((?:python|try)-[\w-]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@contextlib.contextmanager
def _reference_importable() -> Iterator[None]:
    """Let `import gpt` find the reference, as in a student's folder."""
    sys.path.insert(0, str(HERE))
    try:
        yield
    finally:
        sys.path.remove(str(HERE))


def run_examples(text: str) -> dict[str, str]:
    """Return what each example of the handout (with ids) prints, run in order as in the notebook."""
    import torch

    printed = {}
    with _reference_importable():
        names: dict[str, Any] = {}
        exec("import math\nimport torch\nfrom torch import nn\nfrom torch.nn import functional as F", names)
        exec(
            "from head import Head\nfrom gpt import GPT, shape_table\nfrom paper import *\nfrom verify import *", names
        )
        for name, code in EXAMPLE.findall(text):
            torch.manual_seed(0)
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(code, names)
            printed[name] = output.getvalue()
    return printed


def measure_influence() -> list[list[float]]:
    """Return how much the logits at each position (rows) depend on each token (columns), in a new model."""
    import torch

    with _reference_importable():
        from gpt import GPT
    n = SIZES.course
    torch.manual_seed(0)
    model = GPT(**n.arguments())
    idx = torch.randint(n.V, (1, POSITIONS))
    influence = torch.zeros(POSITIONS, POSITIONS)
    with torch.no_grad():
        before = model(idx)
        for s in range(POSITIONS):
            changed = idx.clone()
            changed[0, s] = (changed[0, s] + 1) % n.V
            influence[:, s] = (model(changed) - before).abs().amax(-1)[0]
    return [[round(x, 3) for x in row] for row in influence.tolist()]


def measure_losses() -> list[float]:
    """Return the losses of training on one batch: before the first step, and after each."""
    import torch

    with _reference_importable():
        from gpt import GPT
    n = SIZES.course
    torch.manual_seed(0)
    model = GPT(**n.arguments())
    idx, targets = torch.randint(n.V, (2, ROWS, n.T_max))
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    losses = []
    for _ in range(STEPS + 1):
        _, loss = model(idx, targets)
        losses.append(round(loss.item(), 3))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return losses


def main() -> None:
    from reference import handout

    texts: Mapping[str, str] = {
        name: (HERE / name).read_text("utf-8") for name in handout.TEXTS if name != MEASURED.name
    }
    measured = {
        "outputs": run_examples(handout.render(texts, notebook=False)),
        "losses": measure_losses(),
        "influence": measure_influence(),
    }
    MEASURED.write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
