"""Explain an exception in student code: their line, what was raised, and the cause if it is a common one."""

from __future__ import annotations

import re
import textwrap

from autograder.oracle import mistakes
from autograder.oracle.mistakes import Mistake
from autograder.sandbox.errors import Raised
from autograder.sandbox.process import Remote
from autograder.sandbox.wire import clean

WIDTH, LINES = 76, 4  # of a message: a terminal of 80 columns, minus the indent
# Characters kept of the quoted line and of the exception's text (without and with a known cause), widest first.
ROOM = ((64, 120, 56), (48, 72, 40), (32, 40, 28), (20, 28, 20))
SHAPES = 4  # tensors whose shapes are shown

OF_TORCH = "Linear|Module|ModuleList|Sequential|LayerNorm|Embedding|GELU|ReLU|Softmax"
MODULE = f"({OF_TORCH}|Head|MultiHeadAttention|MLP|Block)"
OF_TENSORS = "(dim|shape|size|view|reshape|transpose|softmax|log_softmax|mean|sum|split|chunk|masked_fill|mT|T)"
# Exception type, pattern in its text, mistake. The first match counts.
USUAL: tuple[tuple[str, str, str], ...] = (
    (
        "TypeError",
        r"found element of type float|but got float|tuple of ints, not float",
        "size_is_float",
    ),
    ("TypeError", r"'float' object (cannot be interpreted|is not iterable)|slice indices must be", "size_is_float"),
    ("AttributeError", r"before Module\.__init__\(\) call", "super_init_missing"),
    ("AttributeError", r"no attribute '_(parameters|buffers|modules|\w+_hooks)'", "super_init_missing"),
    ("AttributeError", r"'NoneType' object has no attribute", "result_is_none"),
    ("TypeError", r"'NoneType'|not NoneType", "result_is_none"),
    ("AttributeError", r"'list' object has no attribute", "list_called"),
    # Only torch classes: a student's class may lack an attribute of that name.
    ("AttributeError", rf"'({OF_TORCH})' object has no attribute '{OF_TENSORS}'", "module_for_tensor"),
    ("AttributeError", r"object has no attribute", "attribute_unknown"),
    ("NameError", r"is not defined", "name_unknown"),
    ("NotImplementedError", r"Module \[ModuleList\] is missing", "module_list_called"),
    ("NotImplementedError", r"is missing the required \"forward\"", "method_unknown"),
    ("TypeError", r"'list' object is not callable", "list_called"),
    ("TypeError", r"list is not a Module subclass", "sequential_of_list"),
    ("TypeError", r"'int' object is not iterable", "number_gone_through"),
    ("IndexError", r"tuple index out of range|Dimension out of range|too many indices", "axis_unknown"),
    ("TypeError", rf"must be Tensor, not {MODULE}|must be tuple of Tensors, not {MODULE}", "module_for_tensor"),
    ("TypeError", rf"unsupported operand type.*('Tensor' and '{MODULE}'|'{MODULE}' and 'Tensor')", "module_for_tensor"),
    ("TypeError", r"expected Tensor as element \d+ in argument 0, but got", "module_for_tensor"),
    ("ValueError", r"math domain error|expected a nonnegative input", "root_of_negative"),
    ("TypeError", r"positional argument", "arguments_differ"),
    ("TypeError", r"unexpected keyword argument", "arguments_differ"),
    ("AssertionError", r"not compiled with CUDA", "device_fixed"),
    ("RuntimeError", r"NVIDIA driver|same device|CUDA", "device_fixed"),
    ("RuntimeError", r"a leaf Variable that requires grad", "parameter_changed_in_place"),
    ("TypeError", r"cannot assign .* as parameter", "parameter_replaced"),
    ("RuntimeError", r"modified by an inplace operation", "changed_in_place"),
    ("RuntimeError", r"view size is not compatible", "view_of_scattered"),
    ("IndexError", r"index out of range in self", "past_the_table"),
    ("RuntimeError", r"scalar types: Long, Int; but got|target dtype to be Long", "tokens_not_whole"),
    ("RuntimeError", r"Expected target size|Expected input batch_size", "loss_over_wrong_axis"),
    ("ValueError", r"Expected target size|Expected input batch_size", "loss_over_wrong_axis"),
    ("RuntimeError", r"attn_mask should not be set when is_causal", "mask_and_is_causal"),
    ("RuntimeError", r"does not require grad", "loss_detached"),
    (
        "RuntimeError",
        r"have the same dtype|share same datatype|match query dtype|expected scalar type (Double|Float|Half|BFloat16)",
        "types_mixed",
    ),
    ("RecursionError", r"", "calls_itself"),
    ("RuntimeError", r"can't start new thread", "sandbox_denies_threads"),
    ("PermissionError", r"Operation not permitted|Permission denied", "sandbox_denies_files"),
)


def cause(remote: Remote) -> Mistake | None:
    """Return the common mistake behind this exception, or None."""
    for kind, pattern, name in USUAL:
        if kind in remote.kinds and re.search(pattern, remote.text):
            return mistakes.named(name)
    return None


def told(error: Raised) -> str:
    """Return the message: where it was raised, the student's line, the exception and its cause."""
    remote = error.remote
    if "SyntaxError" in remote.kinds:
        file, line, _, text = remote.frames[-1] if remote.frames else (error.call, 0, "", "")
        return f"{file} is not valid Python: line {line}{_quoted(text, ROOM[0][0])}: {remote.text}."
    message = ""
    for quoted, unknown, known in ROOM:
        text = clean(remote.text, known if cause(remote) else unknown)
        what = f"{remote.type}: {text}".removesuffix(": ")
        message = f"{place(error, quoted)} {what}{'' if what[-1:] in '.…' else '.'} {_meaning(remote)}".strip()
        if fits(message):
            break
    return message


def fits(message: str) -> bool:
    """Return whether a message is at most LINES lines long."""
    return len(textwrap.wrap(message, WIDTH)) <= LINES


def place(error: Raised, quoted: int = ROOM[0][0]) -> str:
    """Return the call and the student's innermost line, where the exception was raised."""
    if not error.remote.frames:
        return f"In {error.call}:"
    file, line, where, text = error.remote.frames[-1]
    if error.call.endswith((".py", ".ipynb")):
        return f"{file} could not be imported: line {line}{_quoted(text, quoted)}."
    if error.call.startswith(where):
        return f"{error.call} raised at line {line} of {file}{_quoted(text, quoted)}."
    first = error.remote.frames[0]
    via = f" (from {first[0]} line {first[1]})" if len(error.remote.frames) > 1 else ""
    return f"{error.call} raised in {where}, {file} line {line}{via}{_quoted(text, quoted)}."


def _quoted(line: str, room: int) -> str:
    return f": `{clean(line, room)}`" if line else ""


def _meaning(remote: Remote) -> str:
    """Return one sentence on the cause: the known mistake, or the shapes involved."""
    text = remote.text
    if found := re.search(r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)", text):
        _, given, taken, _ = found.groups()
        return f"The input has {given} features; the weight expects {taken}.{_shapes(remote)}"
    if found := re.search(r"normalized_shape=\[(\d+)\].*size\[([\d, ]+)\]", text):
        return f"The norm expects {found[1]} features; its input has shape ({found[2]})."
    known = cause(remote)
    if known is None:
        return _shapes(remote).strip()
    near = f" Did you mean {remote.near}?" if remote.near else ""
    return f"{known.sentence}{near}"


def _shapes(remote: Remote) -> str:
    """Return the shapes of the tensors named in that line."""
    shown = [f"{clean(name, 24)} is {shape}" for name, shape in remote.shapes[:SHAPES]]
    return f" Here {', '.join(shown[:-1])}{' and ' if shown[1:] else ''}{shown[-1]}." if shown else ""
