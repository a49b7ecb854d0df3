"""The correct head, and the head with one mistake. Runs in the oracle's process, which has torch."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


class Operations:
    """The questions that checks can ask."""

    def do_head(self, weights: dict[str, np.ndarray], x: np.ndarray, mistake: str = "") -> Tensor:
        """Compute the head's output (B, T, d) -> (B, T, d_head), in the precision of the weights."""
        inputs = torch.from_numpy(x)
        q, k, v = (inputs @ torch.from_numpy(weights[f"{role}.weight"]).T for role in ("query", "key", "value"))
        scores = q @ k.transpose(1, 2)  # (B, T, T)
        if mistake != "scale_missing":
            scores = scores / q.shape[-1] ** 0.5
        if mistake != "mask_missing":
            scores = scores.masked_fill(torch.ones_like(scores).tril() == 0, float("-inf"))
        return scores.softmax(-1) @ v
