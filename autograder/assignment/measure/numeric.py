"""Softmax and cross-entropy in numpy, in float64: the trusted process never imports torch."""

from __future__ import annotations

import numpy as np


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Return the log of the softmax over the last axis: (..., V) -> (..., V); logits may be -inf."""
    shifted = logits.astype(np.float64)
    shifted -= shifted.max(-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(-1, keepdims=True)))


def softmax(logits: np.ndarray) -> np.ndarray:
    """Apply the softmax over the last axis: (..., V) -> (..., V)."""
    return np.asarray(np.exp(log_softmax(logits)))


def cross_entropy(logits: np.ndarray, targets: np.ndarray) -> float:
    """Return the cross-entropy of ``logits`` (..., V) and ``targets`` (...), averaged over all positions."""
    return float(-np.take_along_axis(log_softmax(logits), targets[..., None], -1).mean())


def uniform_cross_entropy(logits: np.ndarray) -> np.ndarray:
    """Return the cross-entropy (...) of ``logits`` (..., V), averaged over all possible targets."""
    return np.asarray(-log_softmax(logits).mean(-1))
