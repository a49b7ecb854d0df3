"""Assign a student's tensors to the oracle's weights: yield every layout that the shapes allow.

Attribute names are the student's own, and one shape can mean several things: a fused (3d, d) matrix may have its heads
or its three roles outermost. So nothing is decided here. Each function yields all layouts, the most common first, and
the caller keeps the one under which the oracle reproduces the outputs of the student's class.

A layout maps each of the oracle's names to a source: which tensors hold that role, and the order of their axes. It
therefore has a meaning at any sizes. At given sizes it becomes an array of entry numbers for each role, where the
entries of all tensors are numbered end to end (-2 and -1 are the constants 0 and 1 that follow them), with which values
and gradients can be copied in either direction.

For example, a LayerNorm of width 2 with ``weight`` and ``bias`` has the entries 0, 1 and 2, 3, and two layouts::

    {"ln_f.gain": [0, 1], "ln_f.bias": [2, 3]}
    {"ln_f.gain": [2, 3], "ln_f.bias": [0, 1]}
"""

from autograder.assignment.oracle.layouts.attention import ROLES, attention_layouts
from autograder.assignment.oracle.layouts.entries import (
    MAX_ENTRIES,
    Layout,
    Shapes,
    Source,
    Stacks,
    axis_sizes,
    build_layout,
    find_entries,
    number_entries,
    stack_both_ways,
    stack_tensors,
    uses_all,
)
from autograder.assignment.oracle.layouts.mlp import mlp_layouts, mlp_matrices
from autograder.assignment.oracle.layouts.model import model_layouts
from autograder.assignment.oracle.layouts.norm import norm_layouts

__all__ = [
    "MAX_ENTRIES",
    "ROLES",
    "Layout",
    "Shapes",
    "Source",
    "Stacks",
    "attention_layouts",
    "axis_sizes",
    "build_layout",
    "find_entries",
    "mlp_layouts",
    "mlp_matrices",
    "model_layouts",
    "norm_layouts",
    "number_entries",
    "stack_both_ways",
    "stack_tensors",
    "uses_all",
]
