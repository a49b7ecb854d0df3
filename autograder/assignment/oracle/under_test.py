"""Compute the models that a student's verification suite is tried on.

A model is described to the student's process by named parameters only, in one of two layouts. For each call it sends
them back, as one vector if they have changed.
"""

from __future__ import annotations

import fnmatch
import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from autograder.assignment.oracle import wrong_models
from autograder.assignment.oracle.model import Steps, block, stack
from autograder.assignment.oracle.wrong_models import GPT2_STD, WrongModel
from autograder.assignment.sizes import Dims

KEPT = 64  # models kept in the oracle's process


@functools.lru_cache(maxsize=KEPT)
def make(function: str, name: str, sizes: tuple[int, ...], seed: int, number: int, variant: str) -> ModelUnderTest:
    """Return a model; the oracle's process keeps the last ones."""
    return ModelUnderTest(wrong_models.named(function, name), Dims(*sizes), seed, number, variant)


class ModelUnderTest:
    """A GPT of sizes ``n``, initialised by ``seed``: the ``number``-th that one function makes."""

    def __init__(self, row: WrongModel, n: Dims, seed: int, number: int, variant: str) -> None:
        self.row = row = wrong_models.RIGHT if number < row.lucky else row
        self.n = n
        generator = torch.Generator().manual_seed(seed + number)
        weights = _draw_weights(n, generator, "gpt2" in variant)
        row.change(weights, n)
        self.hidden = {name: value for name, value in weights.items() if _matches(name, row.hidden)}
        self.shown = {name: value for name, value in weights.items() if name not in self.hidden}
        self.layout = BATCHED if "batched" in variant else HEADS
        self.steps = {"attention": Steps(), **row.steps}
        if row.mask:
            mask = row.mask
            self.steps["attention"] = replace(self.steps["attention"], mask=lambda scores: mask(scores, n))
        self.parameters: dict[str, Tensor] = {}
        self.frozen: list[str] = []
        for name, value in self.shown.items():
            written = self.layout.write(name, value)
            self.parameters |= written
            self.frozen += written if _matches(name, row.frozen) else ()

    def describe(self) -> dict[str, Any]:
        """Return what the student's process gets to know."""
        return {
            "shapes": {name: list(value.shape) for name, value in self.parameters.items()},
            "values": torch.cat([value.flatten() for value in self.parameters.values()]),
            "frozen": self.frozen,
        }

    def run(self, flat: Tensor | None, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Return the output with the parameters in ``flat``, or else with the initial ones."""
        shown = self.shown
        if flat is not None:
            values = self._split_parameters(flat)
            shown = {name: self.layout.read(name, like, values) for name, like in self.shown.items()}
        return self._forward(shown | self.hidden, *arguments, **named)

    def gradients(
        self, flat: Tensor | None, arguments: Sequence[Any], named: Mapping[str, Any], outer: Sequence[Tensor]
    ) -> Tensor:
        """Return the gradients of the trainable parameters, end to end, for those of the outputs."""
        if flat is None:
            flat = torch.cat([value.flatten() for value in self.parameters.values()])
        flat = flat.clone().requires_grad_()
        output = self.run(flat, arguments, named)
        outputs = [value for value in (output if isinstance(output, tuple) else (output,)) if value is not None]
        torch.autograd.backward(outputs, list(outer))
        assert flat.grad is not None
        parts = self._split_parameters(flat.grad)
        return torch.cat([part.flatten() for name, part in parts.items() if name not in self.frozen])

    def _split_parameters(self, flat: Tensor) -> dict[str, Tensor]:
        parts = torch.split(flat, [value.numel() for value in self.parameters.values()])
        shapes = [(name, value.shape) for name, value in self.parameters.items()]
        return {name: part.reshape(shape) for part, (name, shape) in zip(parts, shapes, strict=True)}

    def _forward(self, w: dict[str, Tensor], idx: Tensor, targets: Tensor | None = None) -> Any:
        """Return the logits (B, T, V), or the logits and the loss."""
        row, n = self.row, self.n
        if idx.dim() != 2 or idx.is_floating_point():
            raise IndexError(f"idx must hold integers of shape (B, T); it has shape {tuple(idx.shape)} of {idx.dtype}")
        if targets is not None and targets.shape != idx.shape:
            raise ValueError(f"targets have shape {tuple(targets.shape)}; idx has {tuple(idx.shape)}")
        w.setdefault("head", w["tok"].mT)
        if w["tok"].dtype is not torch.float32:
            w = {name: value.to(w["tok"].dtype) for name, value in w.items()}
        blocks = [functools.partial(block, w=w, at=str(at), steps=self.steps) for at in row.order(n.L)]
        logits = stack(idx, w, blocks, row.steps.get("model", Steps()))
        return row.result(logits, None if targets is None else row.loss(logits, targets))


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _draw_weights(n: Dims, generator: torch.Generator, gpt2: bool) -> dict[str, Tensor]:
    """Initialise as PyTorch does by default, or as GPT-2, by the oracle's names."""
    d, k = n.d, n.d // n.H
    shapes: dict[str, tuple[int, ...]] = {"tok": (n.V, d), "pos": (n.T_max, d)}
    for at in range(n.L):
        shapes |= {f"{at}.{role}": (n.H, d, k) for role in ("q", "k", "v")}
        shapes |= {f"{at}.o": (n.H, k, d), f"{at}.o.bias": (d,)}
        shapes |= {f"{at}.up": (d, 4 * d), f"{at}.up.bias": (4 * d,), f"{at}.down": (4 * d, d), f"{at}.down.bias": (d,)}
        shapes |= {f"{at}.{norm}.{part}": (d,) for norm in ("ln1", "ln2") for part in ("gain", "bias")}
    shapes |= {"ln_f.gain": (d,), "ln_f.bias": (d,), "head": (d, n.V)}
    weights = {}
    for name, shape in shapes.items():
        fan_in = 4 * d if ".down" in name else d
        if name.endswith("gain"):
            weights[name] = torch.ones(shape)
        elif ".ln" in name or name.startswith("ln_f"):
            weights[name] = torch.zeros(shape)
        elif gpt2:
            std = 0.0 if name.endswith("bias") else GPT2_STD
            std /= math.sqrt(2 * n.L) if name.endswith((".o", ".down")) else 1
            weights[name] = std * torch.randn(shape, generator=generator)
        elif name in ("tok", "pos"):
            weights[name] = torch.randn(shape, generator=generator)
        else:
            weights[name] = (2 * torch.rand(shape, generator=generator) - 1) / math.sqrt(fan_in)
    return weights


@dataclass(frozen=True, slots=True)
class Layout:
    """Names of parameters, as an nn.Linear and nn.Embedding store them, with all heads in one tensor or one for each.

    ``names`` are by the oracle's names; {} stands for the number of the block, and of the head.
    """

    names: Mapping[str, str]
    is_batched: bool

    def write(self, name: str, value: Tensor) -> dict[str, Tensor]:
        """Return the parameters that hold the oracle's tensor ``name``."""
        at, role = _split(name)
        own = self.names.get(role, role)
        if role[0] in "qkv":
            heads = value.mT if value.dim() == 3 else value  # (H, d_head, d) or (H, d_head)
            if self.is_batched:
                return {own.format(at): heads.flatten(0, 1).contiguous()}
            return {own.format(at, number): head.contiguous() for number, head in enumerate(heads)}
        return {own.format(at): (value.flatten(0, -2).mT if role in MATRICES else value).contiguous()}

    def read(self, name: str, like: Tensor, values: Mapping[str, Tensor]) -> Tensor:
        """Return the oracle's tensor ``name``, of the shape of ``like``, from the parameters that hold it."""
        at, role = _split(name)
        own = self.names.get(role, role)
        if role[0] in "qkv":
            if self.is_batched:
                whole = values[own.format(at)]
                heads = whole.reshape(len(like), -1, *whole.shape[1:])
            else:
                heads = torch.stack([values[own.format(at, number)] for number in range(len(like))])
            return heads.mT if like.dim() == 3 else heads
        value = values[own.format(at)]
        return value.mT.reshape(like.shape) if role in MATRICES else value


def _split(name: str) -> tuple[str, str]:
    """Return the number of the block, "" outside of blocks, and the role."""
    first, _, rest = name.partition(".")
    return (first, rest) if first.isdigit() else ("", name)


MATRICES = ("o", "up", "down", "head")
HEADS = Layout(
    {
        "tok": "token_embedding.weight",
        "pos": "position_embedding.weight",
        "ln1.gain": "layers.{}.norm1.weight",
        "ln1.bias": "layers.{}.norm1.bias",
        **{
            f"{role}{'.bias' if part == 'bias' else ''}": f"layers.{{}}.attention.heads.{{}}.{word}.{part}"
            for role, word in (("q", "query"), ("k", "key"), ("v", "value"))
            for part in ("weight", "bias")
        },
        "o": "layers.{}.attention.output.weight",
        "o.bias": "layers.{}.attention.output.bias",
        "ln2.gain": "layers.{}.norm2.weight",
        "ln2.bias": "layers.{}.norm2.bias",
        "up": "layers.{}.mlp.expand.weight",
        "up.bias": "layers.{}.mlp.expand.bias",
        "down": "layers.{}.mlp.contract.weight",
        "down.bias": "layers.{}.mlp.contract.bias",
        "ln_f.gain": "final_norm.weight",
        "ln_f.bias": "final_norm.bias",
        "head": "unembedding.weight",
        "head.bias": "unembedding.bias",
    },
    is_batched=False,
)
BATCHED = Layout(
    {
        "tok": "wte.weight",
        "pos": "wpe.weight",
        "ln1.gain": "h.{}.ln_1.weight",
        "ln1.bias": "h.{}.ln_1.bias",
        **{
            f"{role}{'.bias' if part == 'bias' else ''}": f"h.{{}}.attn.w_{role}.{part}"
            for role in ("q", "k", "v")
            for part in ("weight", "bias")
        },
        "o": "h.{}.attn.c_proj.weight",
        "o.bias": "h.{}.attn.c_proj.bias",
        "ln2.gain": "h.{}.ln_2.weight",
        "ln2.bias": "h.{}.ln_2.bias",
        "up": "h.{}.mlp.c_fc.weight",
        "up.bias": "h.{}.mlp.c_fc.bias",
        "down": "h.{}.mlp.c_proj.weight",
        "down.bias": "h.{}.mlp.c_proj.bias",
        "ln_f.gain": "ln_f.weight",
        "ln_f.bias": "ln_f.bias",
        "head": "lm_head.weight",
        "head.bias": "lm_head.bias",
    },
    is_batched=True,
)
