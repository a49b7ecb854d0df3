"""Encode and decode frames between the grader and a process that runs student code.

A frame is ``u32 header length, u32 body length, header, body``: the header is JSON, the body the raw little-endian
bytes of the arrays that the header describes. Nothing is unpickled, every length is checked before memory is
allocated, and text is sanitised here, so that later code can rely on it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import numbers
import os
import socket
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.core.text import MAX_TEXT, clean

PREFIX = struct.Struct("<II")
MAX_HEADER = 1 << 20
MAX_BODY = 64 << 20
MAX_ARRAYS = 4096
MAX_RANK = 8
MAX_DIM = 1 << 24
MAX_DEPTH = 64

DTYPES: dict[str, np.dtype[Any]] = {
    "f32": np.dtype("<f4"),
    "f64": np.dtype("<f8"),
    "i64": np.dtype("<i8"),
    "u8": np.dtype("u1"),
}
PRIMITIVES = (type(None), bool, int, float)
Buffer = bytes | memoryview
CODES = {dtype: code for code, dtype in DTYPES.items()}


class WireError(Exception):
    """Raised for data that is not a valid frame."""


@dataclasses.dataclass(frozen=True, slots=True)
class Opaque:
    """A value that is not a number, string, array or container of these: only its type's name is sent."""

    type: str


# --- values -----------------------------------------------------------------------------------------------------------


def encode(value: Any, as_array: Callable[[Any], np.ndarray | None] = lambda _: None) -> bytes:
    """Return the frame of ``value``; ``as_array`` turns a foreign tensor into a numpy array, or returns None.

    Raises WireError if the value is too large or too deeply nested.
    """
    arrays: list[np.ndarray] = []

    def tree(value: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise WireError("the value is nested too deeply")
        if type(value) in PRIMITIVES:  # the fast path for most values
            return value
        if isinstance(value, str):
            return str(value)[: MAX_TEXT + 1]
        if isinstance(value, dict):  # keys as text, since other keys could share one hash and take quadratic time
            return {"dict": [[str(key)[: MAX_TEXT + 1], tree(item, depth + 1)] for key, item in value.items()]}
        if isinstance(value, (tuple, list)):
            items = [item if type(item) in PRIMITIVES else tree(item, depth + 1) for item in value]
            return {"tuple": items} if isinstance(value, tuple) else items
        array = value if isinstance(value, np.ndarray) else as_array(value)
        if array is not None:
            dtype = array.dtype if array.dtype in CODES else array.dtype.newbyteorder("<")
            if dtype not in CODES:
                return {"opaque": f"array of {array.dtype}"}
            arrays.append(np.asarray(array, dtype, order="C"))
            return {"array": len(arrays) - 1}
        if isinstance(value, (np.bool_, numbers.Integral)):
            return bool(value) if isinstance(value, np.bool_) else int(value)
        if isinstance(value, numbers.Real):
            return float(value)
        if isinstance(value, Opaque):
            return {"opaque": value.type}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return tree({field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}, depth)
        return {"opaque": type(value).__name__}

    root = tree(value, 0)
    described = [{"dtype": CODES[a.dtype], "shape": list(a.shape)} for a in arrays]
    header = json.dumps({"value": root, "arrays": described}).encode()
    header += b" " * (-len(header) % 8)  # so that the arrays are aligned if both are received together
    size = sum(a.nbytes for a in arrays)
    if len(header) > MAX_HEADER or size > MAX_BODY or len(arrays) > MAX_ARRAYS:
        raise WireError(f"the value is too large to send ({len(header) + size:,} bytes)")
    return b"".join([PREFIX.pack(len(header), size), header, *(a.data for a in arrays if a.size)])


def parse_prefix(prefix: Buffer) -> tuple[int, int]:
    """Return the lengths of header and body from a frame's first 8 bytes. Raises WireError if they exceed the caps."""
    header, body = PREFIX.unpack(prefix)
    if header > MAX_HEADER or body > MAX_BODY:
        raise WireError(f"a frame announces {header:,} + {body:,} bytes")
    return header, body


def decode(header: Buffer, body: Buffer) -> Any:
    """Return the value of a frame. Raises WireError for anything that ``encode`` would not have written.

    Aligned arrays are views of ``body`` and keep it alive; others are copies.
    """
    try:
        document = json.loads(str(header, "utf-8"))
    except (ValueError, RecursionError) as error:
        raise WireError(f"the header is not JSON: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("arrays"), list) or "value" not in document:
        raise WireError("the header does not describe a value")
    arrays = _decode_arrays(document["arrays"], body)

    def tree(node: Any, depth: int) -> Any:
        if depth > 2 * MAX_DEPTH:
            raise WireError("the value is nested too deeply")
        if type(node) in PRIMITIVES:
            return node
        if isinstance(node, str):
            return clean(node)
        if isinstance(node, list):
            return [item if type(item) in PRIMITIVES else tree(item, depth + 1) for item in node]
        if isinstance(node, dict) and len(node) == 1:
            ((kind, content),) = node.items()
            if kind == "array" and type(content) is int and 0 <= content < len(arrays):
                return arrays[content]
            if kind == "opaque" and isinstance(content, str):
                return Opaque(clean(content, 200))
            if kind == "tuple" and isinstance(content, list):
                return tuple(tree(item, depth + 1) for item in content)
            if kind == "dict" and isinstance(content, list):
                return dict(_decode_pair(item, lambda part: tree(part, depth + 1)) for item in content)
        raise WireError("the header holds a value of unknown kind")

    return tree(document["value"], 0)


def _decode_pair(item: Any, tree: Callable[[Any], Any]) -> tuple[str, Any]:
    if not isinstance(item, list) or len(item) != 2 or not isinstance(item[0], str):
        raise WireError("a dict holds something that is not a pair of a text and a value")
    return clean(item[0]), tree(item[1])


def _decode_arrays(described: list[Any], body: Buffer) -> list[np.ndarray]:
    if len(described) > MAX_ARRAYS:
        raise WireError(f"{len(described):,} arrays in one frame")
    arrays, offset = [], 0
    for entry in described:
        if not isinstance(entry, dict) or not isinstance(entry.get("dtype"), str):
            raise WireError("an array is not described")
        dtype, shape = DTYPES.get(entry["dtype"]), entry.get("shape")
        if dtype is None or not isinstance(shape, list) or len(shape) > MAX_RANK:
            raise WireError("an array has an unknown type or too many dimensions")
        if any(type(size) is not int or not 0 <= size <= MAX_DIM for size in shape):
            raise WireError("an array has an impossible size")
        size = math.prod(shape) * dtype.itemsize
        if offset + size > len(body):
            raise WireError("the body is shorter than its arrays")
        try:
            array = np.frombuffer(body, dtype, math.prod(shape), offset).reshape(shape)
            arrays.append(array if array.flags.behaved else array.copy())
        except ValueError:  # an empty array with impossible sizes
            raise WireError("an array has an impossible size") from None
        offset += size
    if offset != len(body):
        raise WireError("the body is longer than its arrays")
    return arrays


# --- frames on a socket that does not block (the grader's end) ------------------------------------------------------


class FrameReader:
    """Receive one frame."""

    def __init__(self) -> None:
        self._received = _allocate(PREFIX.size)
        self._left = self._received
        self._header = -1  # the length of the header, once the prefix has arrived

    def receive(self, channel: socket.socket) -> bool:
        """Receive available data, in at most two parts; return whether the frame is complete.

        Raises BlockingIOError if nothing is available, EOFError if the socket closed, WireError if it is not a frame.
        """
        self._receive_part(channel)
        if self._header < 0 and not self._left:
            self._header, body = parse_prefix(self._received)
            self._left = self._received = _allocate(self._header + body)
            with contextlib.suppress(BlockingIOError):
                self._receive_part(channel)
        return self._header >= 0 and not self._left

    def _receive_part(self, channel: socket.socket) -> None:
        if self._left:
            size = channel.recv_into(self._left)
            if not size:
                raise EOFError
            self._left = self._left[size:]

    def value(self) -> Any:
        """Return the frame's value. Raises WireError as ``decode`` does."""
        return decode(self._received[: self._header], self._received[self._header :])


# --- frames on a blocking descriptor (used in the worker and the zygote) ---------------------------------------------


def read(fd: int) -> Any:
    """Read the next value from ``fd``. Raises EOFError if the other side has closed."""
    header, body = parse_prefix(_read_exactly(fd, PREFIX.size))
    return decode(_read_exactly(fd, header), _read_exactly(fd, body))


def write(fd: int, frame: bytes) -> None:
    """Write all of ``frame`` to ``fd``."""
    view = memoryview(frame)
    while view:
        view = view[os.write(fd, view) :]


def _read_exactly(fd: int, size: int) -> memoryview:
    left = received = _allocate(size)
    while left:
        size = os.readv(fd, [left])
        if not size:
            raise EOFError
        left = left[size:]
    return received


def _allocate(size: int) -> memoryview:
    """Allocate ``size`` aligned bytes without the zero fill of a bytearray."""
    return np.empty(size, np.uint8).data
