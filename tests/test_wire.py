"""Test that any data on the wire becomes a value or a WireError, and that text is made harmless at once."""

from __future__ import annotations

import contextlib
import json
import os
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from autograder.sandbox.remote import wire
from autograder.sandbox.remote.wire import Opaque, WireError

# Use the same examples everywhere and no time limit: a busy machine must not cause failures.
settings.register_profile("calm", derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
calm = settings.get_profile("calm")

ANY_SHAPE = npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
DTYPES = [np.dtype(code) for code in ("<f4", ">f4", "<f8", ">f8", "<i8", ">i8", "u1")]
arrays = st.sampled_from(DTYPES).flatmap(lambda dtype: npst.arrays(dtype, ANY_SHAPE))
plain = st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1) | st.floats() | st.text(max_size=20)
# Only printable text arrives unchanged; other tests cover the rest.
harmless = plain.filter(lambda value: not isinstance(value, str) or wire.clean(value) == value)
keys = st.text(max_size=20).filter(lambda text: wire.clean(text) == text)
values = st.recursive(
    harmless | arrays,
    lambda inner: (
        st.lists(inner, max_size=4) | st.lists(inner, max_size=4).map(tuple) | st.dictionaries(keys, inner, max_size=4)
    ),
    max_leaves=20,
)


def same(a: Any, b: Any) -> bool:
    """Return whether two values are equal in type and value; NaN equals itself."""
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b) or (a != a and b != b)


def received(frame: bytes) -> Any:
    """Return the value that the other side reads from ``frame``, which must be exactly one frame."""
    header, body = wire.parse_prefix(frame[: wire.PREFIX.size])
    rest = frame[wire.PREFIX.size :]
    assert len(rest) == header + body
    return wire.decode(rest[:header], rest[header:])


def document(value: Any = None, arrays: Any = (), body: bytes = b"") -> Any:
    """Return the value that ``decode`` reads from a header written by hand."""
    return wire.decode(json.dumps({"value": value, "arrays": list(arrays)}).encode(), body)


def value_or_wire_error(header: bytes, body: bytes) -> None:
    """Require that ``decode`` returns a value or raises WireError, without allocating much more than it was sent."""
    tracemalloc.start()
    try:
        wire.decode(header, body)
    except WireError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 1 << 20


@calm
@given(values)
def test_values_and_arrays_arrive_as_they_were_sent(value: Any) -> None:
    assert same(value, received(wire.encode(value)))


@calm
@given(arrays)
def test_an_array_arrives_little_endian_writable_and_of_the_same_type(array: np.ndarray) -> None:
    got = received(wire.encode(array))
    assert got.dtype == array.dtype.newbyteorder("<")
    assert got.flags.writeable
    assert got.flags.owndata or got.base.flags.owndata  # not a view that keeps the whole frame alive


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.T,
        lambda a: a[::2, ::-1],
        lambda a: a[:, 1],
        lambda a: np.broadcast_to(a[0], (3, 4)),
        np.asfortranarray,
    ],
    ids=["transposed", "strided", "column", "broadcast", "fortran"],
)
def test_an_array_that_is_not_contiguous_arrives_as_it_looks(view: Any) -> None:
    array = view(np.arange(12.0).reshape(3, 4))
    assert np.array_equal(received(wire.encode(array)), array)


def test_numbers_of_numpy_become_plain_ones_and_everything_else_only_names_its_type() -> None:
    got = received(wire.encode([np.float32(0.5), np.int32(3), np.bool_(True), object(), 1j, {1, 2}, b"x"]))
    assert got[:3] == [0.5, 3, True]
    assert [type(value) for value in got[:3]] == [float, int, bool]
    assert got[3:] == [Opaque("object"), Opaque("complex"), Opaque("set"), Opaque("bytes")]


def test_an_array_of_another_type_only_names_it() -> None:
    got = received(wire.encode([np.zeros(2, np.complex64), np.array(["a"]), np.array([object()])]))
    assert [value.type.split()[0] for value in got] == ["array"] * 3


def test_a_foreign_tensor_goes_through_as_array() -> None:
    class Tensor:
        pass

    frame = wire.encode([Tensor(), 1], lambda value: np.ones(2) if isinstance(value, Tensor) else None)
    assert same(received(frame), [np.ones(2), 1])


def test_what_is_too_deep_or_too_large_is_refused_before_it_is_sent() -> None:
    deep: list[Any] = []
    for _ in range(wire.MAX_DEPTH + 2):
        deep = [deep]
    loop: list[Any] = []
    loop.append(loop)
    large = np.broadcast_to(np.float64(0), (wire.MAX_BODY // 8 + 1,))
    for value in (deep, loop, large, [np.zeros(1)] * (wire.MAX_ARRAYS + 1), [10**17] * 60_000):
        with pytest.raises(WireError):
            wire.encode(value)


def test_a_value_just_within_the_depth_that_can_be_sent_is_received() -> None:
    deep: Any = 1
    for _ in range(wire.MAX_DEPTH // 2):
        deep = {"a": [deep]}
    assert received(wire.encode(deep)) == deep


@calm
@given(st.binary(max_size=64), st.binary(max_size=32))
@example(b"[" * 100_000, b"")
@example(b'{"arrays":[],"value":' + b'{"a":' * 100_000, b"")
@example(b'{"arrays":[],"value":' + b"9" * 5000 + b"}", b"")
@example(b"\xff\xfe{}", b"")
@example(b"\x00" * 40, b"")
def test_random_bytes_are_a_value_or_a_wire_error(header: bytes, body: bytes) -> None:
    value_or_wire_error(header, body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["f32", "u8", "x", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["array", "dict", "tuple", "opaque", "dtype", "shape"]), inner, max_size=2)
    ),
    max_leaves=12,
)
SIZES = st.lists(
    st.sampled_from([0, 1, 2, 3, wire.MAX_DIM, wire.MAX_DIM + 1, 1 << 64, -1, True, 1.0, None]), max_size=9
)
DESCRIBED = st.fixed_dictionaries({"dtype": st.sampled_from(["f32", "f64", "i64", "u8", "f16", "", 1]), "shape": SIZES})


@settings(calm, max_examples=300)
@given(JSON | st.just({"array": 0}), st.lists(DESCRIBED, max_size=2) | JSON, st.binary(max_size=16))
def test_a_header_of_the_right_words_in_the_wrong_places_is_a_value_or_a_wire_error(
    value: Any, described: Any, body: bytes
) -> None:
    value_or_wire_error(json.dumps({"value": value, "arrays": described}).encode(), body)


@settings(calm, max_examples=200)
@given(values, st.data())
def test_a_damaged_frame_is_a_value_or_a_wire_error(value: Any, data: st.DataObject) -> None:
    frame = bytearray(wire.encode(value))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(frame) - 1))
        frame[place] = data.draw(st.integers(0, 255))
    try:
        header, body = wire.parse_prefix(bytes(frame[: wire.PREFIX.size]))
    except WireError:
        return
    rest = bytes(frame[wire.PREFIX.size :])
    value_or_wire_error(rest[:header], rest[header : header + body])


F32 = {"dtype": "f32", "shape": [2]}
BAD = {
    "not an object": lambda: wire.decode(b"[1, 2]", b""),
    "no value": lambda: wire.decode(b'{"arrays": []}', b""),
    "no arrays": lambda: wire.decode(b'{"value": 1}', b""),
    "cut off": lambda: wire.decode(b'{"value": 1, "arrays": [', b""),
    "not utf-8": lambda: wire.decode(b'{"value": "\xff", "arrays": []}', b""),
    "5000 digits": lambda: wire.decode(b'{"arrays": [], "value": ' + b"7" * 5000 + b"}", b""),
    "nested 100,000 deep": lambda: wire.decode(b'{"arrays": [], "value": ' + b"[" * 100_000, b""),
    "nested 300 deep": lambda: wire.decode(b'{"arrays":[],"value":' + b"[" * 300 + b"]" * 300 + b"}", b""),
    "body too short": lambda: document({"array": 0}, [F32], b"1234567"),
    "body too long": lambda: document({"array": 0}, [F32], b"123456789"),
    "body without arrays": lambda: document(1, [], b"x"),
    "unknown dtype": lambda: document({"array": 0}, [{"dtype": "f16", "shape": [2]}], b"1234"),
    "object dtype": lambda: document({"array": 0}, [{"dtype": "O", "shape": [1]}], b"12345678"),
    "dtype is a number": lambda: document({"array": 0}, [{"dtype": 4, "shape": [2]}], b"12345678"),
    "no shape": lambda: document({"array": 0}, [{"dtype": "f32"}], b""),
    "bool as size": lambda: document({"array": 0}, [{"dtype": "u8", "shape": [True]}], b"x"),
    "float as size": lambda: document({"array": 0}, [{"dtype": "u8", "shape": [1.0]}], b"x"),
    "negative size": lambda: document({"array": 0}, [{"dtype": "u8", "shape": [-1, -1]}], b"x"),
    "huge size": lambda: document({"array": 0}, [{"dtype": "u8", "shape": [1 << 40]}], b""),
    "product beyond 64 bits": lambda: document({"array": 0}, [{"dtype": "u8", "shape": [1 << 24] * 8}], b""),
    "empty, and beyond 64 bits": lambda: document({"array": 0}, [{"dtype": "u8", "shape": [0, *[1 << 24] * 7]}], b""),
    "too many dimensions": lambda: document({"array": 0}, [{"dtype": "u8", "shape": [1] * 9}], b"x"),
    "too many arrays": lambda: document(1, [{"dtype": "u8", "shape": [0]}] * (wire.MAX_ARRAYS + 1)),
    "array index out of range": lambda: document({"array": 1}, [F32], b"12345678"),
    "negative array index": lambda: document({"array": -1}, [F32], b"12345678"),
    "bool as array index": lambda: document({"array": False}, [F32], b"12345678"),
    "unknown kind": lambda: document({"pickle": "gASV"}),
    "two kinds at once": lambda: document({"tuple": [], "dict": []}),
    "tuple of no list": lambda: document({"tuple": "ab"}),
    "dict of no pairs": lambda: document({"dict": [[1, 2, 3]]}),
    "number as key": lambda: document({"dict": [[1, 2]]}),
    "list as key": lambda: document({"dict": [[[1], 2]]}),
    "array as key": lambda: document({"dict": [[{"array": 0}, 2]]}, [F32], b"12345678"),
    "opaque of no name": lambda: document({"opaque": 3}),
    "header too long": lambda: wire.parse_prefix(wire.PREFIX.pack(wire.MAX_HEADER + 1, 0)),
    "body too long to receive": lambda: wire.parse_prefix(wire.PREFIX.pack(10, wire.MAX_BODY + 1)),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_frame_is_a_wire_error_of_one_line(bad: str) -> None:
    with pytest.raises(WireError) as error:
        BAD[bad]()
    assert len(str(error.value).splitlines()) == 1


def test_the_later_of_two_equal_keys_counts() -> None:
    assert document({"dict": [["a", 1], ["a", 2]]}) == {"a": 2}


# --- text -------------------------------------------------------------------------------------------------------------


@calm
@given(st.text(), st.integers(1, 40))
def test_clean_text_is_short_encodable_and_printable(text: str, cap: int) -> None:
    got = wire.clean(text, cap)
    assert len(got) <= cap
    assert all(c.isprintable() or c in "\n\t" for c in got)
    got.encode("utf-8")


@calm
@given(st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=30))
def test_clean_text_keeps_letters_signs_and_line_ends(text: str) -> None:
    assert wire.clean(f"{text}\n\tü 漢 √2 🙂") == f"{text}\n\tü 漢 √2 🙂"


@pytest.mark.parametrize(
    "text",
    ["\x1b[2J\x1b[31mPASSED", "\x9b31m", "a\rb", "\x07", "\x00", "\u202egnp.exe", "\u2066x\u2069", "\u2028", "\ud800"],
    ids=ascii,
)
def test_escapes_overrides_and_surrogates_do_not_pass_the_border(text: str) -> None:
    ((key, value),) = document({"dict": [[text, text]]}).items()
    for got in (wire.clean(text), document(text), key, value, document({"opaque": text}).type):
        got.encode("utf-8")
        assert not set(got) & set("\x1b\x9b\r\x07\x00\u202e\u2066\u2069\u2028")


def test_keys_arrive_as_text() -> None:
    assert received(wire.encode({1: "a", (2, "b"): None, None: 3})) == {"1": "a", "(2, 'b')": None, "None": 3}


def test_long_text_is_cut_on_both_sides_of_the_wire() -> None:
    frame = wire.encode("x" * 1_000_000)
    assert len(frame) < 2 * wire.MAX_TEXT
    assert received(frame) == "x" * (wire.MAX_TEXT - 1) + "…"
    assert document("y" * 9000) == "y" * (wire.MAX_TEXT - 1) + "…"


# --- descriptors ------------------------------------------------------------------------------------------------------


def test_frames_written_to_a_descriptor_are_read_one_by_one_until_it_is_closed() -> None:
    there, here = os.pipe()
    for value in ([1, "a"], np.arange(3)):
        wire.write(here, wire.encode(value))
    os.close(here)
    assert wire.read(there) == [1, "a"]
    assert wire.read(there).tolist() == [0, 1, 2]
    with pytest.raises(EOFError):
        wire.read(there)
    os.close(there)


@settings(calm, max_examples=50)
@given(values, st.data())
def test_a_frame_that_is_cut_off_is_the_end(value: Any, data: st.DataObject) -> None:
    there, here = os.pipe()
    frame = wire.encode(value)
    os.write(here, frame[: data.draw(st.integers(0, len(frame) - 1))])
    os.close(here)
    with pytest.raises(EOFError):
        wire.read(there)
    os.close(there)


@settings(calm, max_examples=50)
@given(st.lists(values, max_size=3), st.binary(max_size=12))
def test_bytes_between_frames_never_pass_for_one(sent: list[Any], noise: bytes) -> None:
    there, here = os.pipe()
    for value in sent:
        os.write(here, wire.encode(value))
    os.write(here, noise + wire.encode("late"))
    os.close(here)
    assert all(same(value, wire.read(there)) for value in sent)
    with contextlib.suppress(WireError, EOFError):
        assert not noise or wire.read(there) != "late"
    os.close(there)
