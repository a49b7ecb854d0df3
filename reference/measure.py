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
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autograder.assignment.sizes import SIZES

HERE = Path(__file__).resolve().parent
MEASURED = HERE / "measured.json"
STEPS, RATE, ROWS = 50, 1e-3, 16
POSITIONS = 16  # in the influence matrix
EXAMPLE = re.compile(r'^```python id="((?:python|try)-[\w-]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def run_examples(text: str) -> dict[str, str]:
    """Return what each example of the handout (with ids) prints, run in order as in the notebook."""
    import torch

    sys.path.insert(0, str(HERE))
    try:
        names: dict[str, Any] = {}
        exec("import math\nimport torch\nfrom torch import nn\nfrom torch.nn import functional as F", names)
        exec("from head import Head\nfrom gpt import GPT, shape_table\nfrom paper import *", names)
        printed = {}
        for name, code in EXAMPLE.findall(text):
            torch.manual_seed(0)
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(code, names)
            printed[name] = output.getvalue()
        return printed
    finally:
        sys.path.remove(str(HERE))


def measure_model() -> dict[str, Any]:
    """Return the losses of training on one batch, and how much each position's logits depend on each token."""
    import torch

    sys.path.insert(0, str(HERE))
    try:
        from gpt import GPT
    finally:
        sys.path.remove(str(HERE))
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
    idx, targets = torch.randint(n.V, (2, ROWS, n.T_max))
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    losses = []
    for _ in range(STEPS + 1):
        _, loss = model(idx, targets)
        losses.append(round(loss.item(), 3))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {"losses": losses, "influence": [[round(x, 3) for x in row] for row in influence.tolist()]}


def main() -> None:
    from reference import handout

    texts: Mapping[str, str] = {
        name: (HERE / name).read_text("utf-8") for name in handout.TEXTS if name != MEASURED.name
    }
    measured = {"outputs": run_examples(handout.render(texts, notebook=False))} | measure_model()
    MEASURED.write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
