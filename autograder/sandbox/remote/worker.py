"""Run student code in its own process: import files, then build, call and change objects on request.

Student code can tamper with everything here, so every reply is a claim: numbers, names and text that the trusted side
checks or only displays.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import os
import random
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim.adam import adam

from autograder.core.text import clean
from autograder.sandbox.isolation import confine
from autograder.sandbox.loading import importer, parts, stubs, substitutes
from autograder.sandbox.remote import hosted, wire
from autograder.sandbox.remote.rpc import as_tensor, describe, serve

MAX_INPUTS = 500
MAX_NAME = 200  # characters of a parameter's name
MAX_TROUBLES = 200
BETAS = {"beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.0}
ADAM: dict[str, Any] = {"foreach": True, "amsgrad": False, "maximize": False, **BETAS}
# Computed before the forks: iterating over sys.modules copies the pages of its names.
GRADER_MODULES = [name for name in sys.modules if name.split(".")[0] == "autograder"]
BASE_CLASSES = (nn.Module, object)  # classes whose methods are not the student's
CACHES = ("HOME", "TMPDIR", "MPLCONFIGDIR", "TORCHINDUCTOR_CACHE_DIR")


def main(channel: int, request: dict[str, Any], plan: confine.Plan, uid: int | None) -> None:
    """Serve calls on ``channel``; ``request`` holds the limits and the scratch folder."""
    # Libraries write to these folders, and a worker cannot create others.
    os.environ.update(dict.fromkeys(CACHES, request["scratch"]))
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    layers = confine.confine(confine.Limits(**request["limits"]), plan, channel, request["scratch"], uid)
    if "no_open" in layers:
        importlib.invalidate_caches()  # else imports find files that cannot be opened, and fail oddly
    _forget_grader()
    substitutes.install(request["scratch"])
    wire.write(channel, wire.encode({"layers": layers}))
    serve(channel, Worker())


def _forget_grader() -> None:
    """Remove the grader's modules, so that a plain import cannot reach them."""
    for name in GRADER_MODULES:
        del sys.modules[name]


class Worker:
    """The operations of a student's process; objects stay here and are referred to by number."""

    def __init__(self) -> None:
        self.finder = importer.Finder({}, "")
        self.objects: dict[int, Any] = {}
        self.stubs = stubs.Stubs()
        self.ask: Callable[[Any], Any]  # set for each request by ``serve``

    # --- files ------------------------------------------------------------------------------------------------------

    def do_store_files(self, files: dict[str, np.ndarray], main: str, wanted: list[str]) -> None:
        """Store the submission's files, the name of its main module, and the requested names; execute nothing yet."""
        sys.argv[:] = [f"{main}.py"]
        self.finder = importer.Finder({name: data.tobytes() for name, data in files.items()}, main, wanted)
        sys.meta_path.insert(0, self.finder)

    def do_load(self, module: str) -> dict[str, Any]:
        """Import a file; return each definition's location and which of its functions are still stubs."""
        namespace = vars(importlib.import_module(module))
        substitutes.allow_gradients_on_cpu()
        definitions = self.finder.find_definitions(module)
        # The file's own come first, and among them those that explain an absent definition.
        troubles = [
            trouble
            for file in sorted(self.finder.failed_statements, key=lambda file: file != module)
            for trouble in sorted(self.finder.failed_statements[file], key=lambda trouble: not trouble.names)
        ][:MAX_TROUBLES]
        return {
            "defined": {
                name: definitions.get(name, ("", 0, [])) for name, value in namespace.items() if callable(value)
            },
            "troubles": [
                {"names": list(trouble.names), "raised": describe(trouble.error, self)} for trouble in troubles
            ],
            "left_out": (len(self.finder.skipped), self.finder.skipped[:1]),
        }

    def do_use_parts(self, module: str, sources: dict[str, np.ndarray], contract: list[str]) -> None:
        """Replace definitions of a file with correct ones, given as source; they may refer to names in ``contract``.

        A file that cannot be imported is replaced as a whole.
        """
        texts = {name: source.tobytes().decode() for name, source in sources.items()}
        try:
            importlib.import_module(module)
        except Exception:
            sys.modules[module] = ModuleType(module)
        parts.install(vars(sys.modules[module]), texts, contract)

    # --- objects ----------------------------------------------------------------------------------------------------

    def do_build(
        self,
        number: int,
        module: str,
        name: str,
        arguments: dict[str, Any],
        seed: int,
        double: bool,
        width: int,
    ) -> dict[str, Any]:
        """Construct ``name`` from ``module``; return its parameters, each with the stub that owns it.

        Lazy layers get their shapes from a first call, with an input (1, 1, ``width``) or, without a width, of tokens.
        """
        cls = getattr(importlib.import_module(module), name)
        _seed(seed)
        with _nan_in_new_memory():
            built = cls(**arguments) if _accepts_all(cls, arguments) else cls(*arguments.values())
        if isinstance(built, nn.Module):
            built.eval()
            if stubs.has_lazy_layers(built):
                with torch.no_grad():
                    built(torch.zeros(1, 1, width) if width else torch.zeros(1, 1, dtype=torch.long))
            built = built.double() if double else built
        self.objects[number] = built
        methods = sorted({name for cls in type(built).__mro__ if cls not in BASE_CLASSES for name in vars(cls)})
        return {"module": isinstance(built, nn.Module), "methods": methods, "parameters": self._parameters(built)}

    def do_forget(self, but: list[int]) -> None:
        """Drop all stubs, and all objects except those in ``but``."""
        self.objects = {number: self.objects[number] for number in but}
        self.stubs.restore()
        self.stubs = stubs.Stubs()

    def do_use_stubs(self, module: str, names: dict[str, np.ndarray], replace: list[str]) -> None:
        """Replace the forward of these classes with a linear map; for those in ``replace``, the whole class."""
        namespace = vars(importlib.import_module(module))
        for name, matrix in names.items():
            self.stubs.install(namespace, name, stubs.as_tensor(matrix), name in replace)

    def do_stub_parts(self, number: int, name: str, matrix: np.ndarray, size: int, count: int) -> list[str]:
        """Make the ``count`` parts of an object with ``size`` weights stubs; return their paths, or none."""
        return self.stubs.install_in_parts(self.objects[number], name, stubs.as_tensor(matrix), size, count)

    def do_count_stub_calls(self, number: int, x: np.ndarray) -> dict[str, int]:
        """Call an object; return how often it called each stub."""
        self.do_call(number, "__call__", [x], 0)
        return dict(self.stubs.calls)

    def do_list_constructor_calls(self) -> dict[str, list[dict[str, int]]]:
        """Return the whole numbers that each call of a stub's constructor got, by name or position."""
        return {name: calls[:MAX_INPUTS] for name, calls in self.stubs.constructor_calls.items()}

    def do_accepts(self, module: str, name: str, argument: str) -> bool:
        """Return whether a class or function has a parameter of that name."""
        return _accepts_all(getattr(importlib.import_module(module), name), {argument: None})

    def _parameters(self, built: Any) -> dict[str, Any]:
        """Describe the parameters: names, shapes, which look like masks, which are frozen, which stubs own which."""
        found = _name_parameters(built) if isinstance(built, nn.Module) else {}
        own_names = [name for name, _ in nn.Module.named_parameters(built)] if found else []
        owners = {name: self.stubs.find_owner(built, own) for name, own in zip(found, own_names, strict=True)}
        return {
            "names": list(found),
            "shapes": [list(p.shape) for p in found.values()],
            "masks": [name for name, p in found.items() if not p.is_floating_point() or _is_mask(p)],
            "frozen": [name for name, p in found.items() if not p.requires_grad],
            "owners": {name: owner for name, owner in owners.items() if owner},
        }

    def do_push(self, number: int, weights: dict[str, np.ndarray]) -> None:
        """Copy ``weights`` into the parameters with these names."""
        parameters = _name_parameters(self.objects[number])
        with torch.no_grad():
            for name, value in weights.items():
                p = parameters[name]
                if 0 in p.stride():  # an expanded tensor, whose entries share memory
                    p.data = p.data.clone(memory_format=torch.contiguous_format)
                p.data.copy_(torch.from_numpy(value))

    def do_pull(self, number: int) -> dict[str, torch.Tensor]:
        """Return all parameters except complex ones, which a frame can't hold."""
        return {name: p for name, p in _name_parameters(self.objects[number]).items() if not p.is_complex()}

    def do_call(self, number: int, method: str, arguments: list[Any], seed: int) -> Any:
        """Call a method of an object (``__call__`` for the object itself) without gradients."""
        _seed(seed)
        self.stubs.calls.update(dict.fromkeys(self.stubs.calls, 0))  # counted in each call
        with torch.no_grad():
            return _as_dict(getattr(self.objects[number], method)(*map(as_tensor, arguments)))

    def do_call_function(self, module: str, name: str, arguments: list[Any], seed: int, models: bool = True) -> Any:
        """Call a function of a file; an argument ``("object", n)`` refers to object ``n``."""
        _seed(seed)
        function = getattr(importlib.import_module(module), name)
        given = [
            self.objects[a[1]] if isinstance(a, tuple) and a[:1] == ("object",) else as_tensor(a) for a in arguments
        ]
        with torch.no_grad(), contextlib.nullcontext() if models else _forbid_models():
            return function(*given)

    def do_call_with_module(self, module: str, name: str, arguments: list[Any], seed: int, makes: bool) -> Any:
        """Call a function of a file with a hosted module, or with a function that makes one, and then ``arguments``."""
        make = functools.partial(hosted.make_module, self.ask)
        _seed(seed)
        return getattr(importlib.import_module(module), name)(make if makes else make(), *arguments)

    def do_compute_gradients(self, number: int, idx: np.ndarray, targets: np.ndarray) -> dict[str, torch.Tensor]:
        """Return the gradient of the model's own loss for each parameter that has one."""
        model = self.objects[number]
        model.zero_grad(set_to_none=True)
        _get_loss(model(as_tensor(idx), as_tensor(targets))).backward()  # type: ignore[no-untyped-call]
        return {name: p.grad for name, p in _name_parameters(model).items() if p.grad is not None}

    def do_train(
        self, number: int, idx: np.ndarray, targets: np.ndarray, steps: int, rate: float, stop: float
    ) -> list[float]:
        """Train on one batch with Adam until the loss is below ``stop``; return the losses."""
        model = self.objects[number].train()
        state = [
            (p, torch.zeros_like(p), torch.zeros_like(p), torch.zeros(()))
            for p in nn.Module.parameters(model)
            if p.requires_grad
        ]
        x, y = as_tensor(idx), as_tensor(targets)
        losses: list[float] = []
        for _ in range(steps):
            model.zero_grad(set_to_none=True)
            loss = _get_loss(model(x.clone(), y.clone()))  # forward may modify them in place
            loss.backward()  # type: ignore[no-untyped-call]
            losses.append(float(loss.detach()))
            if 0 <= losses[-1] < stop:  # a negative loss has not converged
                break
            moving = [(p, p.grad.to_dense(), *moments) for p, *moments in state if p.grad is not None]
            params, gradients, means, squares, counts = ([row[i] for row in moving] for i in range(5))
            with torch.no_grad():
                # The function behind torch.optim.Adam, whose class takes a second to import.
                adam(params, gradients, means, squares, [], counts, lr=rate, **ADAM)
        model.eval()
        return losses

    def do_trace(self, number: int, module: str, name: str, idx: np.ndarray) -> dict[str, Any]:
        """Run the model once; return its output and the output shape of each part of class ``name``, seen by hooks."""
        kind = getattr(sys.modules.get(module), name, ())
        seen: list[tuple[int, ...]] = []
        model = self.objects[number]
        hooks = [
            part.register_forward_hook(lambda _, __, out: seen.append(tuple(out.shape)))
            for part in model.modules()
            if isinstance(part, kind)
        ]
        try:
            with torch.no_grad():
                return {"output": _as_dict(model(as_tensor(idx))), "parts": seen}
        finally:
            for hook in hooks:
                hook.remove()

    def do_record_inputs(self, number: int, module: str, function: str, arguments: list[Any], seed: int) -> list[Any]:
        """Return the model's inputs while its method, or a function of ``module``, runs; ignore that call's failure."""
        seen: list[Any] = []
        hook = self.objects[number].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].clone()))
        with contextlib.suppress(Exception):
            if module:
                self.do_call_function(module, function, [("object", number), *arguments], seed)
            else:
                self.do_call(number, function, arguments, seed)
        hook.remove()
        return seen[:MAX_INPUTS]


def _name_parameters(module: nn.Module) -> dict[str, nn.Parameter]:
    """Return the module's parameters by names that a frame can carry: printable, short, and different."""
    named: dict[str, nn.Parameter] = {}
    for name, p in nn.Module.named_parameters(module):
        shown = clean(name, MAX_NAME)
        while shown in named:
            shown += "'"
        named[shown] = p
    return named


def _seed(seed: int) -> None:
    torch.default_generator.manual_seed(seed)  # torch.manual_seed looks for other devices each time
    random.seed(seed)
    np.random.seed(seed % (1 << 32))


@contextlib.contextmanager
def _nan_in_new_memory() -> Iterator[None]:
    """Fill the tensors of ``torch.empty`` with NaN, so that a parameter never initialised is recognised every time."""
    # The public function imports torch's compiler first, which takes a second.
    torch._C._set_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch._C._set_deterministic_algorithms(False)


@contextlib.contextmanager
def _forbid_models() -> Iterator[None]:
    """Make the constructor of every nn.Module raise."""

    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("this function must not build a model; compute with numbers only")

    init, nn.Module.__init__ = nn.Module.__init__, refuse  # type: ignore[method-assign]
    try:
        yield
    finally:
        nn.Module.__init__ = init  # type: ignore[method-assign]


def _accepts_all(cls: type, arguments: dict[str, Any]) -> bool:
    """Return whether the constructor has all names in ``arguments``, so that they can be passed by name."""
    try:
        parameters = inspect.signature(cls).parameters
    except (TypeError, ValueError):
        return False
    return all(
        name in parameters and parameters[name].kind is not inspect.Parameter.POSITIONAL_ONLY for name in arguments
    )


def _is_mask(p: torch.Tensor) -> bool:
    """Return whether a parameter may be a causal mask."""
    *rest, rows, n = p.shape if p.dim() > 1 else (0, 1)
    square = rows == n > 1 and all(size == 1 for size in rest)
    return square and bool((p.diagonal(0, -2, -1) == p.flatten()[0]).all())


def _as_dict(output: Any) -> Any:
    """Return an output with the attributes ``logits`` and ``loss`` as a dict, and any other unchanged."""
    if isinstance(output, (torch.Tensor, tuple, dict)) or not hasattr(output, "logits"):
        return output
    return {"logits": output.logits, "loss": getattr(output, "loss", None)}


def _get_loss(output: Any) -> torch.Tensor:
    """Return the loss in a model's output for targets: the last item of a tuple, or the entry "loss"."""
    output = _as_dict(output)
    loss = output.get("loss") if isinstance(output, dict) else output
    loss = loss[-1] if isinstance(loss, (tuple, list)) and loss else loss
    if isinstance(loss, (int, float, np.generic, np.ndarray)):
        raise TypeError("the loss is a plain number, not a tensor")
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
        found = f"of shape {tuple(loss.shape)}" if isinstance(loss, torch.Tensor) else f"a {type(loss).__name__}"
        raise TypeError(f"forward(idx, targets) must return the logits and a scalar loss tensor; the loss is {found}")
    return loss.reshape(())
