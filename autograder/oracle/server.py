"""Inside the oracle's process: answers what the right model computes for given weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from autograder.oracle import gpt
from autograder.sandbox import wire, worker


class Operations:
    """What the oracle can be asked; arrays in float64 give answers in float64."""

    def do_logits(self, weights: dict[str, np.ndarray], idx: np.ndarray) -> torch.Tensor:
        with torch.no_grad():
            return gpt.gpt(torch.from_numpy(idx), {name: torch.from_numpy(w) for name, w in weights.items()})

    def do_attention(self, weights: dict[str, np.ndarray], x: np.ndarray) -> torch.Tensor:
        with torch.no_grad():
            w = {f"attn.{name}": torch.from_numpy(value) for name, value in weights.items()}
            return gpt.attention(torch.from_numpy(x), w, "attn")


def main(channel: int, request: dict[str, Any]) -> None:
    """Serve questions on ``channel``. No student code is here, so nothing is confined."""
    del request
    wire.write(channel, wire.encode({"held": []}))
    worker.serve(channel, Operations())
