"""Mistakes that end in an exception, which says enough to name them (``autograder/raised.py``)."""

from __future__ import annotations

from functools import partial

from autograder.oracle.mistakes.row import Mistake

_row = partial(Mistake, "python", "tasks 5.1 to 5.3")

ROWS = (
    _row(
        "size_is_float", "A size is a float: / gives one even where it divides exactly, // gives an int.", "divisions"
    ),
    _row(
        "super_init_missing",
        "__init__ of nn.Module has not run: the class needs super().__init__() before it sets anything.",
        "the first line of __init__",
    ),
    _row("attribute_unknown", "The object has no attribute of that name.", "how the name is written in __init__"),
    _row("name_unknown", "There is nothing of that name.", "how it is written where it is made or imported"),
    _row("method_unknown", "The class has no method forward.", "how its name is written"),
    _row(
        "list_called",
        "A list of modules is no module: it is gone through in a loop, or made an nn.Sequential.",
        "how the list is used",
    ),
    _row(
        "module_list_called",
        "nn.ModuleList has no forward: it only holds modules, and is gone through in a loop.",
        "how the list is used",
    ),
    _row("number_gone_through", "A number is gone through as if it were a list; a range would be one.", "the loop"),
    _row(
        "axis_unknown",
        "An axis is asked for that the tensor does not have; axes are counted from 0.",
        "numbers in brackets behind shape, and dim",
    ),
    _row("root_of_negative", "The root of a negative number is taken.", "what is under the root"),
    _row("sequential_of_list", "nn.Sequential takes modules one by one, not a list of them.", "its arguments"),
    _row(
        "module_for_tensor",
        "A module stands where a tensor should: it has not been called.",
        "brackets that are missing",
    ),
    _row("result_is_none", "A value there is None: a function that returns nothing gives that.", "missing returns"),
    _row("device_fixed", "The code asks for a GPU, and here is none.", "cuda: new tensors belong where idx is"),
    _row(
        "parameter_changed_in_place",
        "A parameter is changed in place while gradients are recorded, which autograd forbids.",
        "the lines that scale or initialise: recording has to be off there",
    ),
    _row(
        "parameter_replaced",
        "A parameter is replaced by a plain tensor; its values are to be changed in place instead.",
        "the line that assigns it",
    ),
    _row(
        "changed_in_place",
        "A tensor that the gradient needs is changed in place, as += and *= do; make a new one instead.",
        "lines with += or *=",
    ),
    _row(
        "view_of_scattered",
        "view needs entries that lie next to each other, which a transpose or a slice breaks up; reshape copies.",
        "the view",
    ),
    _row(
        "past_the_table",
        "A number that is looked up is larger than the table's last row.",
        "the sizes of the embeddings, and what they are given",
    ),
    _row("tokens_not_whole", "What is looked up, or a target, has become floating point.", "what changes its type"),
    _row(
        "mask_and_is_causal",
        "The attention function is given a mask and is_causal together; it takes one of the two.",
        "its arguments",
    ),
    _row("types_mixed", "Two tensors of different precision meet.", "tensors made with a fixed dtype"),
    _row("calls_itself", "A function calls itself without end.", "what forward calls"),
    _row("arguments_differ", "The call and the def do not have the same arguments.", "both"),
)
