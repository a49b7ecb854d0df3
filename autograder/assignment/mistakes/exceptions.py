"""List mistakes that an exception identifies, by its type and text. The first row that matches applies."""

from __future__ import annotations

from functools import partial

from autograder.assignment.mistakes.row import Mistake

_exception = partial(Mistake, "python", "tasks 5.1 to 5.3")

OF_TORCH = "Linear|Module|ModuleList|Sequential|LayerNorm|Embedding|GELU|ReLU|Softmax"
MODULE = f"({OF_TORCH}|Head|MultiHeadAttention|MLP|Block)"
OF_TENSORS = "(dim|shape|size|view|reshape|transpose|softmax|log_softmax|mean|sum|split|chunk|masked_fill|mT|T)"
OF_MODULES = (
    "(__call__|_?named_\\w+|\\w*parameters|register_\\w+|(named_)?modules|children|apply|state_dict|train|eval)"
)
INTEGERS = "(Bool|Byte|Char|Short|Int|Long)"
DTYPES = "(Double|Float|Half|BFloat16)"
DEBUGGER_LEFT = _exception(
    "debugger_left",
    "breakpoint() starts a debugger, and nobody can answer it here.",
    "this line: delete it",
    raises=(("BdbQuit", r""),),
    code=r"breakpoint\(|set_trace\(",
)
WRONG_NUMBER_UNPACKED = _exception(
    "wrong_number_unpacked",
    "The two sides have different numbers of values. Forward without targets returns one tensor; a shape has one size "
    "per axis.",
    "the names on the left-hand side",
    raises=(("ValueError", r"(too many|not enough) values to unpack"),),
)
SIZE_IS_FLOAT = _exception(
    "size_is_float",
    "A size is a float: / always gives a float; // gives an int.",
    "divisions",
    raises=(
        ("TypeError", r"found element of type float|but got float|tuple of ints, not float"),
        ("TypeError", r"'float' object (cannot be interpreted|is not iterable)|slice indices must be"),
    ),
)
SUPER_INIT_MISSING = _exception(
    "super_init_missing",
    "nn.Module's __init__ has not run: call super().__init__(), with both parentheses, before setting any attribute.",
    "the first line of __init__",
    raises=(
        ("AttributeError", r"before Module\.__init__\(\) call"),
        ("AttributeError", r"no attribute '_(parameters|buffers|modules|\w+_hooks)'"),
    ),
)
BASE_CLASS_MISSING = _exception(
    "base_class_missing",
    "The class does not inherit from nn.Module.",
    "the line that begins with class",
    raises=(
        ("TypeError", r"is not an nn\.Module"),
        ("TypeError", r"^'(?!Tensor|Parameter|Size|NoneType|\w*Config)[A-Z]\w*' object is not callable"),
        ("AttributeError", rf"'(super|(?!Tensor|Parameter)[A-Z]\w*)' object has no attribute '{OF_MODULES}'"),
    ),
)
NOT_A_MODULE = _exception(
    "not_a_module",
    "Only objects of classes that inherit from nn.Module can be listed there: a class must be called first.",
    "the class of each item, and its parentheses",
    raises=(("TypeError", r"^(?!list |tuple |NoneType )[\w.]+ is not a Module subclass"),),
)
CLASS_NOT_CALLED = _exception(
    "class_not_called",
    "A class is called on a tensor; create the layer in __init__ first, as in nn.LayerNorm(d).",
    "the line of __init__ that sets it",
    raises=(
        ("TypeError", r"^empty\(\): argument 'size' .*found element of type (Tensor|Parameter)"),
        ("TypeError", r"(must be Tensor, not type\b|'Tensor' and 'type'|'type' and 'Tensor')"),
        ("TypeError", r"argument 'approximate' must be str, not Tensor"),
    ),
)
RESULT_IS_NONE = _exception(
    "result_is_none",
    "A value is None: a function that returns nothing gives None.",
    "missing returns",
    raises=(
        ("AttributeError", r"'NoneType' object has no attribute"),
        ("TypeError", r"'NoneType'|not NoneType"),
    ),
)
LIST_CALLED = _exception(
    "list_called",
    "A list of modules is not a module: loop over it, or use nn.Sequential.",
    "how the list is used",
    raises=(
        ("AttributeError", r"'list' object has no attribute"),
        ("TypeError", r"'list' object is not callable"),
    ),
)
MODULE_USED_AS_TENSOR = _exception(
    "module_used_as_tensor",
    "A module is used as a tensor; call it on its input first.",
    "missing parentheses",
    raises=(
        # Only torch classes: a student's class may lack an attribute of that name.
        ("AttributeError", rf"'({OF_TORCH})' object has no attribute '{OF_TENSORS}'"),
        ("TypeError", rf"must be Tensor, not {MODULE}|must be tuple of Tensors, not {MODULE}"),
        ("TypeError", rf"unsupported operand type.*('Tensor' and '{MODULE}'|'{MODULE}' and 'Tensor')"),
        ("TypeError", r"expected Tensor as element \d+ in argument 0, but got"),
    ),
)
TUPLE_USED_AS_TENSOR = _exception(
    "tuple_used_as_tensor",
    "A tuple is used as a tensor: unpack it, or take one of its items. GPT.forward without targets returns no tuple.",
    "the call that returns several values",
    raises=(
        ("AttributeError", r"'tuple' object has no attribute"),
        ("TypeError", r"can only concatenate tuple|(must be Tensor, not|indices must be .* not) tuple"),
        ("TypeError", r"unsupported operand type.*('tuple' and|and 'tuple')"),
    ),
)
UNDEFINED_ATTRIBUTE = _exception(
    "undefined_attribute",
    "This attribute is not defined.",
    "how its name is spelled in __init__",
    raises=(("AttributeError", r"object has no attribute"),),
)
UNDEFINED_NAME = _exception(
    "undefined_name",
    "This name is not defined.",
    "how it is spelled where it is defined or imported",
    raises=(("NameError", r"is not defined"),),
)
MODULE_LIST_CALLED = _exception(
    "module_list_called",
    "nn.ModuleList has no forward: it only holds modules; loop over it.",
    "how the list is used",
    raises=(("NotImplementedError", r"Module \[ModuleList\] is missing"),),
)
FORWARD_MISSING = _exception(
    "forward_missing",
    "The class has no forward method.",
    "how its name is spelled",
    raises=(("NotImplementedError", r"is missing the required \"forward\""),),
)
SEQUENTIAL_OF_LIST = _exception(
    "sequential_of_list",
    "nn.Sequential takes modules one by one, not a list of them.",
    "the arguments of nn.Sequential",
    raises=(("TypeError", r"list is not a Module subclass"),),
)
INT_NOT_ITERABLE = _exception(
    "int_not_iterable",
    "The loop iterates over an int; use range(n).",
    "the loop",
    raises=(("TypeError", r"'int' object is not iterable"),),
)
RELATIVE_IMPORT = _exception(
    "relative_import",
    "The files do not form a package; import them without the leading dot.",
    "the import",
    raises=(("ImportError", r"attempted relative import"),),
)
MODULE_NOT_FOUND = _exception(
    "module_not_found",
    "No module of that name is installed or lies beside this file; subfolders are not read.",
    "the import",
    raises=(("ModuleNotFoundError", r"No module named '(?!torch[._])"),),
)
LIBRARY_MODULE_IMPORTED = _exception(
    "library_module_imported",
    "Python imports its own module of that name instead of the file; rename the file.",
    "the name of the file that is imported",
    raises=(("ImportError", r"has the name of a module of Python itself"),),
)
FILE_NOT_FOUND = _exception(
    "file_not_found",
    "Only the submitted Python files are there when the code is graded; the classes must not read others.",
    "the file that is opened",
    raises=(("FileNotFoundError", r""),),
)
DIM_OUT_OF_RANGE = _exception(
    "dim_out_of_range",
    "The tensor has no such dim; dims are counted from 0.",
    "the dim argument, or the index into shape",
    raises=(("IndexError", r"tuple index out of range|Dimension out of range|too many indices"),),
)
SQRT_OF_NEGATIVE = _exception(
    "sqrt_of_negative",
    "This takes the square root of a negative number.",
    "the argument of the root",
    raises=(("ValueError", r"math domain error|expected a nonnegative input"),),
)
NUMPY_ARGUMENT = _exception(
    "numpy_argument",
    "The value is a torch tensor; where numpy takes axis and keepdims, torch takes dim and keepdim.",
    "the keyword arguments of the call",
    raises=(("TypeError", r"unexpected keyword argument '(axis|axes|keepdims|ddof)'"),),
)
SIGNATURE_MISMATCH = _exception(
    "signature_mismatch",
    "The arguments of the call don't match the def.",
    "the call and the def",
    raises=(("TypeError", r"positional argument"), ("TypeError", r"unexpected keyword argument")),
)
DEVICE_HARD_CODED = _exception(
    "device_hard_coded",
    "The code asks for a GPU or another device; this machine has only a CPU.",
    "the device: new tensors belong on the device of idx",
    raises=(
        ("AssertionError", r"not compiled with [A-Z]+ enabled"),
        ("RuntimeError", r"NVIDIA driver|same device|expected device|CUDA|without \w+ backend"),
        ("RuntimeError", r"support for \w+ devices|device type at start of device string"),
        ("NotImplementedError", r"arguments from the '\w+' backend"),
        ("ModuleNotFoundError", r"No module named '(torch\.|torch_)\w+'"),
    ),
)
PARAMETER_IN_PLACE_CHANGE = _exception(
    "parameter_in_place_change",
    "A parameter is changed in place while gradients are recorded, which autograd forbids.",
    "the lines that scale or initialise: turn gradient recording off there",
    raises=(("RuntimeError", r"a leaf Variable that requires grad"),),
)
PARAMETER_REPLACED = _exception(
    "parameter_replaced",
    "A parameter is replaced by a plain tensor; change its values in place instead.",
    "the line that assigns it",
    raises=(("TypeError", r"cannot assign .* as parameter"),),
)
IN_PLACE_CHANGE = _exception(
    "in_place_change",
    "A tensor that the gradient needs is changed in place (+=, *=); make a new one instead.",
    "lines with += or *=",
    raises=(("RuntimeError", r"modified by an inplace operation"),),
)
VIEW_NON_CONTIGUOUS = _exception(
    "view_non_contiguous",
    "view needs contiguous memory, and a transpose or slice isn't contiguous; reshape copies if needed.",
    "the view",
    raises=(("RuntimeError", r"view size is not compatible"),),
)
INDEX_OUT_OF_RANGE = _exception(
    "index_out_of_range",
    "An index is past the embedding's last row.",
    "the sizes of the embeddings, and their inputs",
    raises=(("IndexError", r"index out of range in self"),),
)
FLOAT_TOKENS = _exception(
    "float_tokens",
    "Token indices or targets are floating point, not integers.",
    "the line that changes their dtype",
    raises=(("RuntimeError", r"scalar types: Long, Int; but got|target dtype to be Long"),),
)
INTEGER_DTYPE = _exception(
    "integer_dtype",
    "The function takes floating point; its input holds integers or booleans.",
    "its input, and any argmax, comparison or .long() before it",
    raises=(
        ("NotImplementedError", rf"not implemented for '{INTEGERS}'"),
        ("RuntimeError", rf"[Gg]ot:? {INTEGERS}$|only (support )?floating|only Tensors of floating point"),
    ),
)
CAUSAL_WITHOUT_MASK = _exception(
    "causal_without_mask",
    "nn.MultiheadAttention also needs attn_mask; is_causal=True is only a hint that this mask is causal.",
    "the arguments of the attention module",
    raises=(("RuntimeError", r"Need attn_mask if specifying the is_causal hint"),),
)
MASK_AND_IS_CAUSAL = _exception(
    "mask_and_is_causal",
    "The attention function is given both a mask and is_causal; it takes only one.",
    "the arguments of the attention function",
    raises=(("RuntimeError", r"attn_mask should not be set when is_causal"),),
)
DTYPE_MISMATCH = _exception(
    "dtype_mismatch",
    "Two tensors have different dtypes.",
    "tensors created with a fixed dtype",
    raises=(
        (
            "RuntimeError",
            rf"have the same dtype|share same datatype|match query dtype|expected scalar type {DTYPES}",
        ),
    ),
)
INFINITE_RECURSION = _exception(
    "infinite_recursion",
    "Infinite recursion: a function calls itself.",
    "the calls in forward",
    raises=(("RecursionError", r""),),
)

# Actions that the sandbox denies, listed so that nobody searches the code for a mistake.
SANDBOX_DENIES_THREADS = _exception(
    "sandbox_denies_threads",
    "The grader's sandbox allows no threads; elsewhere this may work.",
    "the code that starts a thread, and whether the model can do without it",
    raises=(("RuntimeError", r"can't start new thread"),),
)
SANDBOX_DENIES_PROCESSES = _exception(
    "sandbox_denies_processes",
    "The grader's sandbox starts no other process; elsewhere this may work.",
    "the code that starts one, and whether the model can do without it",
    raises=(("PermissionError", r"(Operation not permitted|Permission denied)$"), ("InductorError", r"")),
)
SANDBOX_DENIES_FILES = _exception(
    "sandbox_denies_files",
    "The grader's sandbox allows no folders and no files outside the working directory; elsewhere this may work.",
    "the files that are read or written, and whether the model can do without them",
    raises=(("PermissionError", r"Operation not permitted|Permission denied"),),
)
