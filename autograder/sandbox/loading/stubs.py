"""Replace a student's parts with stubs, known linear maps, so that one class is graded without the others.

The student's constructors still run: only the ``forward`` of a class or of single modules is replaced. A class that
cannot be built is replaced by one that accepts every use in a constructor.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

ABSENT = object()
CONTAINERS = (nn.ModuleList, nn.ModuleDict)  # which are never called


class Stubs:
    """The active stubs, by the name of the replaced class, and how often each was called."""

    def __init__(self) -> None:
        self.matrices: dict[str, Tensor] = {}
        self.calls: dict[str, int] = {}
        self.constructor_calls: dict[str, list[dict[str, Any]]] = {}  # arguments by name, or by position
        self.classes: dict[str, type] = {}
        self.originals: list[tuple[Any, str, Any]] = []  # namespace or class, name, original value

    def restore(self) -> None:
        """Restore everything that stubs replaced. Objects built with stubs keep them."""
        for holder, name, value in reversed(self.originals):
            if isinstance(holder, type):
                delattr(holder, name) if value is ABSENT else setattr(holder, name, value)
            elif value is ABSENT:
                del holder[name]
            else:
                holder[name] = value

    def install(self, namespace: dict[str, Any], name: str, matrix: Tensor, replace: bool) -> None:
        """Replace ``forward`` of the class ``name`` with a product with ``matrix``, or replace the whole class."""
        cls = namespace.get(name, ABSENT)
        if replace or not (isinstance(cls, type) and issubclass(cls, nn.Module)):
            self.originals.append((namespace, name, cls))
            init = self.make_init(name, PermissiveModule.__init__, cls)
            forward = self.make_forward(name, matrix)
            cls = type(name, (PermissiveModule,), {"forward": forward, "__init__": init})
            namespace[name] = cls
        else:
            for method, value in (
                ("forward", self.make_forward(name, matrix, cls.forward)),
                ("__init__", self.make_init(name, vars(cls).get("__init__") or cls.__init__, cls)),
            ):
                self.originals.append((cls, method, vars(cls).get(method, ABSENT)))
                setattr(cls, method, value)
        self.classes[name] = cls

    def make_forward(
        self, name: str, matrix: Tensor, original: Callable[..., Any] | None = None
    ) -> Callable[..., Tensor]:
        """Return a forward that multiplies its first argument by ``matrix`` and counts its calls.

        If there are several matrices (n, d, d), each call takes the next one, the first call of an object the first. If
        lazy layers still have no shapes, it first calls the ``original``.
        """
        self.matrices[name], self.calls[name] = matrix, 0

        def forward(module: nn.Module, x: Tensor, *_: Any, **__: Any) -> Tensor:
            if original is not None and has_lazy_layers(module):
                original(module, x)
            number = self.calls[name]
            self.calls[name] += 1
            return x @ (matrix if matrix.dim() == 2 else matrix[number % len(matrix)]).to(x.dtype)

        return forward

    def make_init(self, name: str, init: Callable[..., None], own: Any) -> Callable[..., None]:
        """Return the constructor ``init``, which records its arguments by the names that the student's class has."""
        try:
            signature = inspect.signature(own)
        except (TypeError, ValueError):
            signature = None
        calls = self.constructor_calls.setdefault(name, [])

        def recorded(module: nn.Module, *args: Any, **kwargs: Any) -> None:
            given = {str(position): value for position, value in enumerate(args)} | kwargs
            if signature is not None:
                with contextlib.suppress(TypeError):
                    given = dict(signature.bind(*args, **kwargs).arguments)
            calls.append({key: value for key, value in given.items() if type(value) is int})
            init(module, *args, **kwargs)

        return recorded

    def install_in_parts(self, built: nn.Module, name: str, matrix: Tensor, size: int, count: int) -> list[str]:
        """Replace ``forward`` of the ``count`` modules in ``built`` with ``size`` weights; return their paths, or none.

        These modules act as the class ``name``, whatever the student called it. Only weights in matrices count.
        """
        taken = tuple(f"{path}." for path, child in built.named_modules() if self._is_stub(child))
        found = [
            path
            for path, child in built.named_modules()
            if path
            and not isinstance(child, CONTAINERS)
            and _count_weights(child) == size
            and not f"{path}.".startswith(taken)
        ]
        outermost = [path for path in found if not any(path.startswith(f"{other}.") for other in found)]
        if len(outermost) != count:
            return []
        forward = self.make_forward(name, matrix)
        for path in outermost:
            child = built.get_submodule(path)
            child.forward = forward.__get__(child)
        return outermost

    def _is_stub(self, module: nn.Module) -> bool:
        return isinstance(module, tuple(self.classes.values())) or "forward" in vars(module)

    def find_owner(self, built: nn.Module, parameter: str) -> str:
        """Return the stub that owns a parameter of ``built``, or ""."""
        parts = parameter.split(".") if self.classes else ()
        for end in range(1, len(parts)):
            child = built.get_submodule(".".join(parts[:end]))
            for name, cls in self.classes.items():
                if isinstance(child, cls):
                    return name
        return ""


def has_lazy_layers(module: nn.Module) -> bool:
    """Return whether a parameter still has no shape."""
    parts = nn.Module.modules(module)  # a student's class may override these methods
    return any(nn.parameter.is_lazy(p) for part in parts for p in part._parameters.values() if p is not None)


def _count_weights(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters() if p.dim() == 2 or sum(n > 1 for n in p.shape) > 1)


class PermissiveModule(nn.Module):
    """A replacement for a class that cannot be built: accepts any arguments and attributes."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("__"):
                raise
            return Anything()


class Anything:
    """An object that accepts attribute access, calls, indexing, iteration, arithmetic and torch functions."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __setattr__(self, name: str, value: Any) -> None: ...

    def __call__(self, *_: Any, **__: Any) -> Anything:
        return self

    def __getitem__(self, key: Any) -> Anything:
        return self

    def __setitem__(self, key: Any, value: Any) -> None: ...

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def _return_self(self, *_: Any) -> Anything:
        return self

    __mul__ = __rmul__ = __imul__ = __truediv__ = __rtruediv__ = __itruediv__ = _return_self
    __add__ = __radd__ = __iadd__ = __sub__ = __rsub__ = __isub__ = __matmul__ = __pow__ = _return_self

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Anything:
        return cls()


def as_tensor(matrix: Any) -> Tensor:
    """Return a matrix received over the wire as a tensor."""
    return torch.from_numpy(matrix)
