"""Run student code in its own process: import the files, then build, call and change their objects on request.

Student code can tamper with everything here, so every reply is a claim: numbers, names and text that the trusted side
checks or only displays.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import inspect
import linecache
import os
import random
import re
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim.adam import adam

from autograder.sandbox import confine, probe, source, wire

MAX_FRAMES = 6
MAX_SPIED = 500
MAX_TROUBLES = 200
BETAS = {"beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.0}
ADAM: dict[str, Any] = {"foreach": True, "amsgrad": False, "maximize": False, **BETAS}
# Computed before the forks: iterating over sys.modules copies the pages of its names.
OWN = [name for name in sys.modules if name.split(".")[0] == "autograder"]
PLAIN = (nn.Module, object)  # classes whose methods are not the student's
CACHES = ("HOME", "TMPDIR", "MPLCONFIGDIR", "TORCHINDUCTOR_CACHE_DIR")


def main(channel: int, request: dict[str, Any], plan: confine.Plan, uid: int | None) -> None:
    """Serve calls on ``channel``; ``request`` holds the limits and the scratch folder."""
    # Libraries need these folders; a worker cannot create any, but this one exists.
    os.environ.update(dict.fromkeys(CACHES, request["scratch"]))
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    held = confine.confine(confine.Limits(**request["limits"]), plan, channel, request["scratch"], uid)
    if "no_open" in held:
        importlib.invalidate_caches()  # else imports find files that cannot be opened, and fail oddly
    _forget_grader()
    wire.write(channel, wire.encode({"held": held}))
    serve(channel, Worker())


def serve(channel: int, operations: Any) -> None:
    """Answer each request with the value of its last operation, or with the exception one raised."""
    while True:
        try:
            nonce, requested = wire.read(channel)
        except EOFError:
            return
        try:
            frame = wire.encode({"nonce": nonce, "value": perform(operations, requested)}, _as_array)
        except BaseException as error:  # sys.exit() counts as a reply too
            frame = wire.encode({"nonce": nonce, "raised": _describe(error, operations)})
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        wire.write(channel, frame)


def perform(operations: Any, requested: list[tuple[str, dict[str, Any]]]) -> Any:
    """Run the operations in order and return the value of the last."""
    value = None
    for operation, arguments in requested:
        value = getattr(operations, f"do_{operation}")(**arguments)
    return value


def _forget_grader() -> None:
    """Remove the grader's modules, so that a plain import cannot reach them."""
    for name in OWN:
        del sys.modules[name]
    sys.argv[:] = ["gpt.py"]


class Worker:
    """The operations of a student's process; objects stay here and are referred to by number."""

    def __init__(self) -> None:
        self.finder = source.Finder({})
        self.objects: dict[int, Any] = {}
        self.probes = probe.Probes()

    # --- files ------------------------------------------------------------------------------------------------------

    def do_files(self, files: dict[str, np.ndarray], wanted: list[str]) -> None:
        """Store the submission's files and the names asked for; nothing is executed yet."""
        self.finder = source.Finder({name: data.tobytes() for name, data in files.items()}, wanted)
        sys.meta_path.insert(0, self.finder)

    def do_load(self, module: str) -> dict[str, Any]:
        """Import a file; return each definition's location and which of its functions are still stubs."""
        namespace = vars(importlib.import_module(module))
        written = self.finder.definitions(module)
        # Errors that explain an absent definition come first.
        troubles = sorted(self.finder.troubles[module], key=lambda trouble: not trouble.names)[:MAX_TROUBLES]
        return {
            "defined": {name: written.get(name, ("", 0, [])) for name, value in namespace.items() if callable(value)},
            "troubles": [
                {"names": list(trouble.names), "raised": _describe(trouble.error, self)} for trouble in troubles
            ],
            "left_out": (len(self.finder.left_out), self.finder.left_out[:1]),
        }

    # --- objects ----------------------------------------------------------------------------------------------------

    def do_build(
        self, number: int, module: str, name: str, arguments: dict[str, Any], seed: int, double: bool
    ) -> dict[str, Any]:
        """Construct ``name`` from ``module``; return its parameters, each with the stub that owns it."""
        _seed(seed)
        cls = getattr(importlib.import_module(module), name)
        built = cls(**arguments) if _takes(cls, arguments) else cls(*arguments.values())
        if isinstance(built, nn.Module):
            built = built.eval().double() if double else built.eval()
        self.objects[number] = built
        methods = sorted({name for cls in type(built).__mro__ if cls not in PLAIN for name in vars(cls)})
        return {"module": isinstance(built, nn.Module), "methods": methods, "parameters": self._parameters(built)}

    def do_forget(self, but: list[int]) -> None:
        """Drop all objects but these, and all stubs."""
        self.objects = {number: self.objects[number] for number in but}
        self.probes.leave()
        self.probes = probe.Probes()

    def do_stand_in(self, module: str, names: dict[str, np.ndarray], replace: list[str]) -> None:
        """Replace the forward of these classes by a linear map; for those in ``replace``, the whole class."""
        namespace = vars(importlib.import_module(module))
        for name, matrix in names.items():
            self.probes.stand_in(namespace, name, probe.linear(matrix), name in replace)

    def do_stand_in_children(self, number: int, name: str, matrix: np.ndarray, d: int, count: int) -> list[str]:
        """Do the same for the ``count`` parts of an object of the size of ``name``; return their paths, if so many."""
        return self.probes.stand_in_children(self.objects[number], name, probe.linear(matrix), d, count)

    def do_trial(self, number: int, x: np.ndarray) -> dict[str, int]:
        """Call an object; return how often it called each stub."""
        calls = self.probes.calls
        calls.update(dict.fromkeys(calls, 0))  # a constructor may have called a stub
        self.do_call(number, "__call__", [x], 0)
        return dict(calls)

    def do_accepts(self, module: str, name: str, argument: str) -> bool:
        """Return whether a class or function has a parameter of that name."""
        return _takes(getattr(importlib.import_module(module), name), {argument: None})

    def _parameters(self, built: Any) -> dict[str, Any]:
        """Describe the parameters: names, shapes, which look like masks, which are frozen, which stubs own which."""
        found = dict(nn.Module.named_parameters(built)) if isinstance(built, nn.Module) else {}
        owners = {name: self.probes.owner(built, name) for name in found}
        return {
            "names": list(found),
            "shapes": [list(p.shape) for p in found.values()],
            "masks": [name for name, p in found.items() if _is_mask(p)],
            "frozen": [name for name, p in found.items() if not p.requires_grad],
            "owners": {name: owner for name, owner in owners.items() if owner},
        }

    def do_push(self, number: int, weights: dict[str, np.ndarray]) -> None:
        """Copy ``weights`` into the parameters of these names."""
        parameters = dict(nn.Module.named_parameters(self.objects[number]))
        with torch.no_grad():
            for name, value in weights.items():
                parameters[name].data.copy_(torch.from_numpy(value))

    def do_pull(self, number: int) -> dict[str, np.ndarray]:
        """Return the values of all parameters."""
        return {name: p.detach().cpu().numpy() for name, p in nn.Module.named_parameters(self.objects[number])}

    def do_call(self, number: int, method: str, arguments: list[Any], seed: int) -> Any:
        """Call a method of an object (``__call__`` for the object itself) without gradients."""
        _seed(seed)
        with torch.no_grad():
            return getattr(self.objects[number], method)(*map(_as_tensor, arguments))

    def do_function(self, module: str, name: str, arguments: list[Any], seed: int, models: bool = True) -> Any:
        """Call a function of a file; an argument ``("object", n)`` stands for object ``n``."""
        _seed(seed)
        function = getattr(importlib.import_module(module), name)
        given = [
            self.objects[a[1]] if isinstance(a, tuple) and a[:1] == ("object",) else _as_tensor(a) for a in arguments
        ]
        with torch.no_grad(), contextlib.nullcontext() if models else _no_models():
            return function(*given)

    def do_gradients(self, number: int, idx: np.ndarray, targets: np.ndarray) -> dict[str, np.ndarray]:
        """Return the gradient of the model's own loss for each parameter that has one."""
        model = self.objects[number]
        model.zero_grad(set_to_none=True)
        _loss(model(_as_tensor(idx), _as_tensor(targets))).backward()  # type: ignore[no-untyped-call]
        return {name: p.grad.numpy() for name, p in nn.Module.named_parameters(model) if p.grad is not None}

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
        x, y = _as_tensor(idx), _as_tensor(targets)
        losses: list[float] = []
        for _ in range(steps):
            model.zero_grad(set_to_none=True)
            loss = _loss(model(x.clone(), y.clone()))  # forward may modify them in place
            loss.backward()  # type: ignore[no-untyped-call]
            losses.append(float(loss.detach()))
            if 0 <= losses[-1] < stop:  # a negative loss has not converged
                break
            moving = [(p, p.grad, *own) for p, *own in state if p.grad is not None]
            params, gradients, means, squares, counts = ([row[i] for row in moving] for i in range(5))
            with torch.no_grad():
                # The function behind torch.optim.Adam, whose class takes a second to import.
                adam(params, gradients, means, squares, [], counts, lr=rate, **ADAM)
        model.eval()
        return losses

    def do_trace(self, number: int, idx: np.ndarray) -> dict[str, Any]:
        """Run the model once; return its output and each Block's output shape, as seen by hooks."""
        block = getattr(sys.modules.get("gpt"), "Block", ())
        seen: list[tuple[int, ...]] = []
        model = self.objects[number]
        hooks = [
            module.register_forward_hook(lambda _, __, out: seen.append(tuple(out.shape)))
            for module in model.modules()
            if isinstance(module, block)
        ]
        try:
            with torch.no_grad():
                return {"output": model(_as_tensor(idx)), "blocks": seen}
        finally:
            for hook in hooks:
                hook.remove()

    def do_spy(self, number: int, module: str, function: str, arguments: list[Any], seed: int) -> list[Any]:
        """Return the model's inputs while its method, or a function of ``module``, runs, even if that fails."""
        seen: list[Any] = []
        hook = self.objects[number].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].clone()))
        with contextlib.suppress(Exception):
            if module:
                self.do_function(module, function, [("object", number), *arguments], seed)
            else:
                self.do_call(number, function, arguments, seed)
        hook.remove()
        return seen[:MAX_SPIED]


def _seed(seed: int) -> None:
    torch.default_generator.manual_seed(seed)  # torch.manual_seed looks for other devices each time
    random.seed(seed)
    np.random.seed(seed % (1 << 32))


@contextlib.contextmanager
def _no_models() -> Iterator[None]:
    """Have the constructor of every nn.Module raise."""

    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("this function must not build a model; compute with numbers only")

    init, nn.Module.__init__ = nn.Module.__init__, refuse  # type: ignore[method-assign]
    try:
        yield
    finally:
        nn.Module.__init__ = init  # type: ignore[method-assign]


def _takes(cls: type, arguments: dict[str, Any]) -> bool:
    """Return whether the constructor has all names in ``arguments``, so that they can be passed by name."""
    try:
        parameters = inspect.signature(cls).parameters
    except (TypeError, ValueError):
        return False
    return all(
        name in parameters and parameters[name].kind is not inspect.Parameter.POSITIONAL_ONLY for name in arguments
    )


def _is_mask(p: torch.Tensor) -> bool:
    """Return whether a parameter may be a causal mask; fast, since hardly any is."""
    *rest, rows, n = p.shape if p.dim() > 1 else (0, 1)
    square = rows == n > 1 and all(size == 1 for size in rest)
    return square and bool((p.diagonal(0, -2, -1) == p.flatten()[0]).all())


def _loss(output: Any) -> torch.Tensor:
    """Return the loss in a model's output for targets: the last item of a tuple, or the entry "loss"."""
    loss = output["loss"] if isinstance(output, dict) else output[-1] if isinstance(output, (tuple, list)) else output
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
        raise TypeError("forward(idx, targets) must return the logits and a scalar loss tensor")
    return loss.reshape(())


def _as_tensor(value: Any) -> Any:
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def _as_array(value: Any) -> np.ndarray | None:
    if not isinstance(value, torch.Tensor):
        return None
    value = value.detach().cpu()
    if value.dtype.is_floating_point and value.dtype is not torch.float64:
        value = value.float()
    elif not value.dtype.is_floating_point and not value.dtype.is_complex and value.dtype is not torch.uint8:
        value = value.long()
    array: np.ndarray = value.contiguous().numpy()
    return array


def _around(frame: FrameType, line: str, error: BaseException) -> tuple[str, list[tuple[str, list[int]]]]:
    """Return what an exception's text omits: a name close to the missing one, and shapes of tensors on the line."""
    known, near, shapes = frame.f_locals, "", list[tuple[str, list[int]]]()
    own: Any = known.get("self")
    with contextlib.suppress(Exception):
        for name in dict.fromkeys(re.findall(r"[A-Za-z_][\w.]*", line)):
            path, *parts = name.split(".")
            value = known.get(path)
            while parts and not isinstance(value, torch.Tensor):
                path, value = f"{path}.{parts[0]}", getattr(value, parts.pop(0), None)
            if isinstance(value, torch.Tensor) and (path, list(value.shape)) not in shapes:
                shapes.append((path, list(value.shape)))
    with contextlib.suppress(Exception):
        names: set[str] = set()
        wanted = ""
        if isinstance(error, NameError):
            names, wanted = {*known, *frame.f_globals}, str(error.name)
        elif isinstance(error, AttributeError):
            names, wanted = {*vars(own), *own._modules, *own._parameters, *own._buffers}, str(error).split("'")[3]
        near = next(iter(difflib.get_close_matches(wanted, sorted(map(str, names - {wanted})), 1)), "")
    return near, shapes


def _describe(error: BaseException, operations: Any) -> dict[str, Any]:
    """Return an exception as data: only the student's own lines, the innermost last."""
    finder = getattr(operations, "finder", None)
    own = finder.places if isinstance(finder, source.Finder) else ()
    frames: list[tuple[str, int, str, str]] = []
    trace, innermost = error.__traceback__, None
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename in own:
            text = linecache.getline(code.co_filename, trace.tb_lineno).strip()
            frames.append((code.co_filename, trace.tb_lineno, getattr(code, "co_qualname", code.co_name), text))
            innermost = trace.tb_frame
        trace = trace.tb_next
    near, shapes = _around(innermost, frames[-1][3], error) if innermost is not None else ("", [])
    if isinstance(error, SyntaxError) and error.filename is not None and error.filename in own:
        frames.append((error.filename, error.lineno or 0, "", (error.text or "").strip()))
    try:
        text = error.msg if isinstance(error, SyntaxError) else str(error)
    except Exception:
        text = ""
    name = getattr(error, "name", None)
    return {
        "type": type(error).__name__,
        "text": str(text),
        "name": name if isinstance(name, str) else "",
        "frames": frames[-MAX_FRAMES:],
        "near": near,
        "shapes": shapes,
        "kinds": [kind.__name__ for kind in type(error).__mro__[:8]],
    }
