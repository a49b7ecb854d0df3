"""Serve requests in a forked process: perform operations, encode their values, and describe what they raise.

Both kinds of forks use this module: a student's (worker.py) and the oracle's.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import itertools
import linecache
import re
import sys
from types import FrameType, TracebackType
from typing import Any

import numpy as np
import torch

from autograder.sandbox.loading import importer
from autograder.sandbox.remote import wire

MAX_FRAMES = 6
MISSING_METHOD = re.compile(
    r"'(?P<class>\w+)' object has no attribute '(?P<method>\w+)'|Module \[(?P<module>\w+)\] is missing"
)


def serve(channel: int, operations: Any) -> None:
    """Answer each request with the value of its last operation, or with the exception that an operation raised.

    Meanwhile the operations can ask the other side: ``operations.ask(question)`` returns its answer.
    """
    while True:
        try:
            nonce, requested = wire.read(channel)
        except EOFError:
            return
        operations.ask = functools.partial(_ask, channel, nonce)
        try:
            frame = wire.encode({"nonce": nonce, "value": perform(operations, requested)}, _as_array)
        except BaseException as error:  # sys.exit() counts as a reply too
            frame = wire.encode({"nonce": nonce, "raised": describe(error, operations)})
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        wire.write(channel, frame)


def _ask(channel: int, nonce: str, question: Any) -> Any:
    wire.write(channel, wire.encode({"nonce": nonce, "asks": question}, _as_array))
    return wire.read(channel)


def perform(operations: Any, requested: list[tuple[str, dict[str, Any]]]) -> Any:
    """Run the operations in order and return the value of the last."""
    value = None
    for operation, arguments in requested:
        value = getattr(operations, f"do_{operation}")(**arguments)
    return value


def as_tensor(value: Any) -> Any:
    """Return an array as a tensor, of the default dtype if it is float32, and any other value unchanged."""
    if not isinstance(value, np.ndarray):
        return value
    tensor = torch.from_numpy(value)
    return tensor.to(torch.get_default_dtype()) if tensor.dtype is torch.float32 else tensor


def _as_array(value: Any) -> np.ndarray | None:
    if not isinstance(value, torch.Tensor):
        return None
    value = value.detach().to_dense().cpu()
    if value.dtype.is_floating_point and value.dtype is not torch.float64:
        value = value.float()
    elif not value.dtype.is_floating_point and not value.dtype.is_complex and value.dtype is not torch.uint8:
        value = value.long()
    array: np.ndarray = value.contiguous().numpy()
    return array


def _find_context(frame: FrameType, line: str, error: BaseException) -> tuple[str, list[tuple[str, list[int]]]]:
    """Return facts that an exception's text omits: a name close to the missing one, shapes of tensors on the line."""
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
            owner: Any = error.obj if error.obj is not None else own
            held = {*owner._modules, *owner._parameters, *owner._buffers} if isinstance(owner, torch.nn.Module) else ()
            names, wanted = {*(dir(owner) if not held else vars(owner)), *held}, str(error.name)
        near = next(iter(difflib.get_close_matches(wanted, sorted(map(str, names - {wanted})), 1)), "")
    return near, shapes


def _find_columns(trace: TracebackType, line: str) -> tuple[int, int]:
    """Return the first and the last column, plus one, of the code that raised on ``line``; (0, 0) if unknown."""
    position = next(itertools.islice(trace.tb_frame.f_code.co_positions(), trace.tb_lasti // 2, None), (None,) * 4)
    start, end, column, end_column = position
    if start != trace.tb_lineno or column is None or end_column is None:
        return 0, 0
    data = line.encode("utf-8", "surrogatepass")  # columns count bytes
    until = data[:end_column] if end == start else data.rstrip()
    return len(data[:column].decode("utf-8", "replace")) + 1, len(until.decode("utf-8", "replace")) + 1


def describe(error: BaseException, operations: Any) -> dict[str, Any]:
    """Return an exception as data: only the student's own lines, the innermost last."""
    finder = getattr(operations, "finder", None)
    own = finder.sources if isinstance(finder, importer.Finder) else ()
    frames: list[tuple[str, int, str, str, int, int]] = []
    trace, innermost = error.__traceback__, None
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename in own:
            line = linecache.getline(code.co_filename, trace.tb_lineno)
            columns = _find_columns(trace, line)
            frames.append((code.co_filename, trace.tb_lineno, code.co_qualname, line.strip(), *columns))
            innermost = trace.tb_frame
        trace = trace.tb_next
    near, shapes = _find_context(innermost, frames[-1][3], error) if innermost is not None else ("", [])
    if isinstance(error, SyntaxError) and error.filename is not None and error.filename in own:
        columns = error.offset or 0, error.end_offset or 0
        frames.append((error.filename, error.lineno or 0, "", (error.text or "").strip(), *columns))
    try:
        text = error.msg if isinstance(error, SyntaxError) else str(error)
    except Exception:
        text = ""
    name = getattr(error, "name", None)
    if isinstance(finder, importer.Finder) and (found := MISSING_METHOD.search(str(text))):
        near = finder.find_misplaced(found["class"] or found["module"], found["method"] or "forward") or near
    return {
        "type": type(error).__name__,
        "text": str(text),
        "name": name if isinstance(name, str) else "",
        "frames": frames[-MAX_FRAMES:],
        "near": near,
        "shapes": shapes,
        "kinds": [kind.__name__ for kind in type(error).__mro__[:8]],
    }
