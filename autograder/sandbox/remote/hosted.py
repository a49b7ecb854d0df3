"""Modules whose outputs the grader computes: their code stays out of the process that uses them.

The parameters are real tensors, and the outputs follow what is written into them. Outputs and gradients are asked for
in the middle of a call (rpc.py).
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

Ask = Callable[[Any], Any]
RAISABLE = {name: getattr(builtins, name) for name in ("IndexError", "RuntimeError", "TypeError", "ValueError")}


def make_module(ask: Ask) -> nn.Module:
    """Return a new module, as the grader describes it."""
    made = _ask(ask, ("make",))
    return HostedModule(ask, made["number"], made["shapes"], torch.from_numpy(made["values"]), made["frozen"]).eval()


class HostedModule(nn.Module):
    """A module that sends its arguments to the grader and returns the tensors that come back."""

    def __init__(self, ask: Ask, number: int, shapes: dict[str, list[int]], values: Tensor, frozen: list[str]) -> None:
        """Make the module with its parameters' ``values``, end to end."""
        super().__init__()
        self._ask, self._number = ask, number
        self._known = values.clone()  # as the grader has them
        self._places: list[tuple[dict[str, Any], str]] = []
        parts = torch.split(values, [math.prod(shape) for shape in shapes.values()])
        owners: dict[str, nn.Module] = {"": self}
        for part, (name, shape) in zip(parts, shapes.items(), strict=True):
            path, _, own = name.rpartition(".")
            owner = _add_modules(owners, path)
            owner.register_parameter(own, nn.Parameter(part.reshape(shape).clone(), requires_grad=name not in frozen))
            self._places.append((owner._parameters, own))

    def _list_parameters(self) -> list[Any]:
        return [held[name] for held, name in self._places]  # faster than ``parameters``, and in the grader's order

    def _flatten(self) -> Tensor:
        return torch.cat([p.detach().reshape(-1) for p in self._list_parameters()])

    def forward(self, *arguments: Any, **named: Any) -> Any:
        """Return what the grader computes for these arguments and the parameters as they are now."""
        flat = self._flatten()
        changed = None if flat.dtype is self._known.dtype and torch.equal(flat, self._known) else flat
        call = (self._number, list(arguments), named, changed)
        trained = [p for p in self._list_parameters() if p.requires_grad]
        if not torch.is_grad_enabled() or not trained:
            return _to_tensors(_ask(self._ask, ("forward", *call)))
        found: list[Any] = []
        tensors = _Outputs.apply(self._ask, call, found, *trained)  # type: ignore[no-untyped-call]
        # In place of each float tensor, the one that autograd knows.
        known = iter(tensors)
        outputs = [next(known) if _is_float(value) else value for value in found[0]]
        return outputs[0] if found[1] else tuple(outputs)


def _add_modules(owners: dict[str, nn.Module], path: str) -> nn.Module:
    """Add the modules along a dotted path that do not exist yet, and return the last one."""
    if path not in owners:
        before, _, name = path.rpartition(".")
        owners[path] = nn.Module()
        _add_modules(owners, before).add_module(name, owners[path])
    return owners[path]


class _Outputs(torch.autograd.Function):
    """The outputs of a hosted module, with gradients for its trainable parameters."""

    @staticmethod
    def forward(ctx: Any, ask: Ask, call: Any, found: list[Any], *parameters: Tensor) -> tuple[Tensor, ...]:
        """Ask for the outputs; ``found`` gets them, and whether there is only one."""
        value = _to_tensors(_ask(ask, ("forward", *call)))
        values = value if isinstance(value, tuple) else (value,)
        found += [values, not isinstance(value, tuple)]
        ctx.ask, ctx.call, ctx.shapes = ask, call, [p.shape for p in parameters]
        return tuple(one for one in values if _is_float(one))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        """Ask for the gradients of all trainable parameters, end to end."""
        flat = torch.from_numpy(_ask(ctx.ask, ("gradients", *ctx.call, list(gradients))))
        parts = torch.split(flat, [shape.numel() for shape in ctx.shapes])
        return (None, None, None, *(part.reshape(shape) for part, shape in zip(parts, ctx.shapes, strict=True)))


def _ask(ask: Ask, question: Any) -> Any:
    """Return the grader's answer, or raise the exception that the module's code raised there."""
    answer = ask(question)
    if "raised" in answer:
        kind, text = answer["raised"]
        raise RAISABLE.get(kind, RuntimeError)(text)
    return answer["value"]


def _to_tensors(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_to_tensors, value))
    return value if value is None else torch.from_numpy(value)


def _is_float(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()
