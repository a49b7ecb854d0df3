"""List mistakes that raise an exception whose text identifies them (``autograder/raised.py``)."""

from __future__ import annotations

from functools import partial

from autograder.oracle.mistakes.row import Mistake

_row = partial(Mistake, "python", "tasks 5.1 to 5.3")

ROWS = (
    _row("size_is_float", "A size is a float: / always gives a float; // gives an int.", "divisions"),
    _row(
        "super_init_missing",
        "nn.Module's __init__ has not run: call super().__init__() before setting any attribute.",
        "the first line of __init__",
    ),
    _row("attribute_unknown", "This attribute is not defined.", "how its name is spelled in __init__"),
    _row("name_unknown", "This name is not defined.", "how it is spelled where it is defined or imported"),
    _row("method_unknown", "The class has no forward method.", "how its name is spelled"),
    _row(
        "list_called",
        "A list of modules is not a module: loop over it, or use nn.Sequential.",
        "how the list is used",
    ),
    _row(
        "module_list_called",
        "nn.ModuleList has no forward: it only holds modules; loop over it.",
        "how the list is used",
    ),
    _row("number_gone_through", "The loop iterates over an int; use range(n).", "the loop"),
    _row(
        "axis_unknown",
        "The tensor has no such dim; dims are counted from 0.",
        "the dim argument, or the index into shape",
    ),
    _row("root_of_negative", "This takes the square root of a negative number.", "the argument of the root"),
    _row("sequential_of_list", "nn.Sequential takes modules one by one, not a list of them.", "its arguments"),
    _row(
        "module_for_tensor",
        "A module is used as a tensor; call it on its input first.",
        "missing parentheses",
    ),
    _row("result_is_none", "A value is None: a function that returns nothing gives None.", "missing returns"),
    _row(
        "device_fixed",
        "The code asks for a GPU; this machine has none.",
        "cuda: new tensors belong on the device of idx",
    ),
    _row(
        "parameter_changed_in_place",
        "A parameter is changed in place while gradients are recorded, which autograd forbids.",
        "the lines that scale or initialise: turn gradient recording off there",
    ),
    _row(
        "parameter_replaced",
        "A parameter is replaced by a plain tensor; change its values in place instead.",
        "the line that assigns it",
    ),
    _row(
        "changed_in_place",
        "A tensor that the gradient needs is changed in place (+=, *=); make a new one instead.",
        "lines with += or *=",
    ),
    _row(
        "view_of_scattered",
        "view needs contiguous memory, and a transpose or slice isn't contiguous; reshape copies if needed.",
        "the view",
    ),
    _row(
        "past_the_table",
        "An index is past the embedding's last row.",
        "the sizes of the embeddings, and their inputs",
    ),
    _row(
        "tokens_not_whole",
        "Token indices or targets are floating point, not integers.",
        "the line that changes their dtype",
    ),
    _row(
        "mask_and_is_causal",
        "The attention function is given both a mask and is_causal; it takes only one.",
        "its arguments",
    ),
    _row("types_mixed", "Two tensors have different dtypes.", "tensors created with a fixed dtype"),
    _row("calls_itself", "Infinite recursion: a function calls itself.", "the calls in forward"),
    _row("arguments_differ", "The arguments of the call don't match the def.", "both"),
    # Not mistakes: what the sandbox denies, so that nobody looks for an error in the code.
    _row(
        "sandbox_denies_threads",
        "The grader's sandbox allows no threads; elsewhere this may work.",
        "what needs a thread, and whether the model can do without it",
    ),
    _row(
        "sandbox_denies_files",
        "The grader's sandbox allows no folders and no files outside the working directory; elsewhere this may work.",
        "what is read or written there, and whether the model can do without it",
    ),
)
