"""Serve the oracle's process: compute the correct model, or one with mistakes, for given weights."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.assignment import mistakes
from autograder.assignment.oracle import diagnose, under_test
from autograder.assignment.oracle.client import KEPT, read_layout, write_layout
from autograder.assignment.oracle.layouts import build_layout, number_entries
from autograder.assignment.oracle.model import RIGHT, Function, StepsByComponent, attention, make_blocks, stack

MAX_ORDERS = 120  # the most orders of the blocks to try: all of five blocks


@dataclass(frozen=True)
class Model:
    """A student's whole model with the oracle's names; without weights if its layout is unknown."""

    weights: dict[str, Tensor] | None
    steps: StepsByComponent
    count: int  # number of blocks

    def blocks(self, order: Sequence[int] = ()) -> list[Function]:
        """Return the blocks in ``order``, or as listed if it is empty."""
        assert self.weights is not None
        return make_blocks(self.weights, order or range(self.count), self.steps)

    def __call__(self, idx: Tensor, order: Sequence[int] = ()) -> Tensor:
        """Compute logits (B, T) -> (B, T, V) with the blocks in ``order``."""
        assert self.weights is not None
        return stack(idx, self.weights, self.blocks(order), self.steps.get("model", RIGHT))


class Operations:
    """The oracle's operations; float64 arrays give float64 answers."""

    def __init__(self) -> None:
        self.models: dict[int, Model] = {}  # the last few, most recent last

    def do_compose(self, number: int, layout: dict[str, Any], weights: dict[str, np.ndarray]) -> None:
        """Keep a student's whole model under ``number``."""
        self.models[number] = Model(
            weights=_assign_weights(layout, weights),
            steps={component: mistakes.rebuild_steps(part["steps"]) for component, part in layout["parts"].items()},
            count=len(layout["blocks"]),
        )

    def _use_model(self, number: int) -> Model:
        """Return the model, and forget the least recent ones beyond KEPT."""
        self.models[number] = model = self.models.pop(number)
        while len(self.models) > KEPT:
            del self.models[next(iter(self.models))]
        return model

    def do_exists(self, number: int) -> bool:
        """Return whether its weights fit the layouts of its classes."""
        return self._use_model(number).weights is not None

    def do_logits(self, number: int, idx: np.ndarray) -> Tensor | None:
        """Compute the model's logits; None if its mistakes make that fail for so many rows or tokens."""
        try:
            with torch.no_grad():
                return self._use_model(number)(torch.from_numpy(idx))
        except (RuntimeError, IndexError):
            return None

    def do_block_order(
        self, number: int, cases: list[tuple[np.ndarray, np.ndarray]], tolerance: float
    ) -> tuple[int, ...]:
        """Find the first order of the blocks that reproduces ``cases``, beginning with the listed one."""
        model = self._use_model(number)
        pairs = [(torch.from_numpy(idx), torch.from_numpy(logits)) for idx, logits in cases]

        def fits(order: tuple[int, ...]) -> bool:
            return all(
                float((model(idx, order) - logits).abs().max()) <= tolerance * max(1.0, float(logits.abs().max()))
                for idx, logits in pairs
            )

        with torch.no_grad():
            orders = itertools.islice(itertools.permutations(range(model.count)), MAX_ORDERS)
            return next(filter(fits, orders), ())

    def do_attention(self, weights: dict[str, np.ndarray], x: np.ndarray) -> Tensor:
        """Compute attention (B, T, d) -> (B, T, d) with the weights of one block."""
        with torch.no_grad():
            return attention(torch.from_numpy(x), _to_tensors(weights, "attn."), "attn")

    def do_identify(
        self,
        component: str,
        tensors: list[tuple[str, np.ndarray]],
        cases: list[tuple[np.ndarray, np.ndarray]],
        sizes: dict[str, int],
        probes: dict[str, np.ndarray],
        tolerance: float,
        expected: list[str],
        max_layouts: int | None,
        max_mistakes: int,
        number: int | None = None,
    ) -> dict[str, Any]:
        """Find the fewest known mistakes with which the oracle computes ``cases``: inputs and outputs of a class.

        ``matches`` are these explanations: one without mistakes if the correct model fits, none if no known one does.
        ``nearest`` is the distance of the correct model if it does not fit. ``number`` is that of a composed model, of
        which the blocks are used.
        """
        query = diagnose.Query(
            shapes=[(name, value.shape) for name, value in tensors],
            flat=_flatten([value for _, value in tensors], cases[0][1].dtype),
            # Small inputs first, as most candidates differ on any; at T=1, many agree.
            cases=sorted(
                ((torch.from_numpy(x), torch.from_numpy(y)) for x, y in cases),
                key=lambda case: (case[0].shape[1] == 1, case[0].numel()),
            ),
            sizes=sizes,
            probes={name: torch.from_numpy(matrix) for name, matrix in probes.items()},
            tolerance=tolerance,
            expected=frozenset(map(mistakes.named, expected)),
            max_layouts=max_layouts,
            max_mistakes=max_mistakes,
            blocks=self._use_model(number).blocks() if number else (),
        )
        with torch.no_grad():
            found, nearest = diagnose.explain(component, query)
        return {
            "matches": [
                {
                    "mistakes": [row.name for row in f.mistakes],
                    "layout": write_layout(f.layout),
                    "count": f.count,
                    "steps": [(row.name, number) for row, number in f.steps],
                }
                for f in found
            ],
            "nearest": [nearest.gap, nearest.position, nearest.alone] if nearest else None,
        }

    def do_outputs(
        self,
        component: str,
        tensors: list[tuple[str, np.ndarray]],
        inputs: list[np.ndarray],
        sizes: dict[str, int],
        probes: dict[str, np.ndarray],
        match: dict[str, Any],
    ) -> list[Tensor] | None:
        """Compute the outputs of a class for ``inputs``, with its tensors and mistakes as in an earlier ``match``.

        Return None if these tensors or sizes do not allow it.
        """
        query = diagnose.Query(
            shapes=[(name, value.shape) for name, value in tensors],
            flat=_flatten([value for _, value in tensors], inputs[0].dtype),
            cases=[],
            sizes=sizes,
            probes={name: torch.from_numpy(matrix) for name, matrix in probes.items()},
            tolerance=0.0,
        )
        steps = mistakes.rebuild_steps(match["steps"])
        try:
            with torch.no_grad():
                layout = read_layout(match["layout"])
                function = diagnose.build_function(component, query, layout, match["count"], steps)
                return [function(torch.from_numpy(x)) for x in inputs] if function else None
        except (RuntimeError, IndexError):
            return None

    def do_gradients(
        self,
        tensors: list[tuple[str, np.ndarray]],
        layout: dict[str, Any],
        sizes: dict[str, int],
        probe: np.ndarray,
        idx: np.ndarray,
        targets: np.ndarray,
    ) -> dict[str, np.ndarray]:
        """Compute gradients of the loss for GPT's own tensors, with a stub for each block."""
        flat = _flatten([value for _, value in tensors], probe.dtype).requires_grad_()
        shapes = [(name, value.shape) for name, value in tensors]
        entries_by_role = build_layout(read_layout(layout), shapes, sizes)
        assert entries_by_role is not None
        blocks: list[Function] = [lambda x: x @ torch.from_numpy(probe)] * sizes["L"]
        w = {role: flat[torch.from_numpy(at)] for role, at in entries_by_role.items()}
        logits = stack(torch.from_numpy(idx), w, blocks)
        chosen = logits.log_softmax(-1).gather(-1, torch.from_numpy(targets)[..., None])
        (-chosen.mean()).backward()  # type: ignore[no-untyped-call]
        gradient = flat.grad
        assert gradient is not None
        return {name: gradient.numpy()[entries] for name, entries in number_entries(shapes)}

    def do_make_under_test(self, model: list[Any]) -> dict[str, Any]:
        """Return the parameters of a model that a verification suite is tried on, and the names of the frozen ones."""
        return under_test.make(*model).describe()

    def do_run_under_test(
        self,
        model: list[Any],
        arguments: list[Any],
        named: dict[str, Any],
        weights: np.ndarray | None,
        gradients: list[np.ndarray] | None = None,
    ) -> dict[str, Any]:
        """Return the model's output, or the gradients of its parameters, or what it raised for these arguments."""
        given = [_to_tensor(value) for value in arguments], {name: _to_tensor(value) for name, value in named.items()}
        made, flat = under_test.make(*model), _to_tensor(weights)
        try:
            if gradients is not None:
                return {"value": made.gradients(flat, *given, [torch.from_numpy(outer) for outer in gradients])}
            with torch.no_grad():
                return {"value": made.run(flat, *given)}
        except (AttributeError, IndexError, RuntimeError, TypeError, ValueError) as error:
            return {"raised": (type(error).__name__, str(error).partition("\n")[0])}


def _to_tensor(value: Any) -> Any:
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def _assign_weights(layout: dict[str, Any], weights: dict[str, np.ndarray]) -> dict[str, Tensor] | None:
    """Return GPT's ``weights`` by the oracle's names, as assigned by ``layout``; GPT's own only if known.

    None if they do not fit the layout of a class.
    """
    found: dict[str, Tensor] = {}
    for at, names, entries in _layouts_by_part(layout, {name: value.shape for name, value in weights.items()}):
        if entries is None:
            return None
        flat = _flatten([weights[name] for name in names], next(iter(weights.values())).dtype)
        found |= {f"{at}{role}": flat[index] for role, index in entries.items()}
    return found


def _layouts_by_part(
    layout: dict[str, Any], given: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[str, tuple[str, ...], dict[str, Tensor] | None]]:
    """Yield prefix, tensor names and entries by role of each part of each block, and of GPT itself.

    The prefix is the oracle's; there are no entries if the tensors do not fit the layout.
    """
    parts = [(f"{i}.", kind, names) for i, block in enumerate(layout["blocks"]) for kind, names in block.items()]
    if "model" in layout["parts"]:
        parts.append(("", "model", layout["own"]))
    sizes = tuple(layout["sizes"].items())
    for at, component, names in parts:
        part = layout["parts"][component]
        local = names if component == "model" else layout["local"][component]
        shapes = tuple((name, tuple(given[own])) for name, own in zip(local, names, strict=True))
        yield at, names, _find_entries(tuple(read_layout(part["layout"]).items()), shapes, sizes)


@functools.lru_cache(maxsize=16)
def _find_entries(layout: Any, shapes: Any, sizes: Any) -> dict[str, Tensor] | None:
    entries = build_layout(dict(layout), shapes, dict(sizes))
    return {role: torch.from_numpy(at) for role, at in entries.items()} if entries else None


def _flatten(tensors: list[np.ndarray], dtype: np.dtype[Any]) -> Tensor:
    """Concatenate all entries, then a 0 and a 1, as ``layouts`` numbers them."""
    return torch.from_numpy(np.concatenate([*(t.reshape(-1) for t in tensors), np.array([0, 1])]).astype(dtype))


def _to_tensors(weights: Mapping[str, np.ndarray], prefix: str = "") -> dict[str, Tensor]:
    return {f"{prefix}{name}": torch.from_numpy(np.ascontiguousarray(value)) for name, value in weights.items()}
