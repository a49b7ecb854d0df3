"""Mistakes in MLP."""

from __future__ import annotations

from functools import partial

from autograder.oracle.mistakes.row import Mistake

_mlp = partial(Mistake, "mlp", "task 5.2")


def _activation(name: str, what: str, way: str) -> Mistake:
    return _mlp(
        name,
        f"The activation is {what}; it should be GELU.",
        "the line between the two linear maps",
        "activation",
        (way,),
    )


ROWS = (
    _activation("mlp_relu", "ReLU", "relu"),
    _activation("mlp_leaky_relu", "a leaky ReLU", "leaky relu"),
    _activation("mlp_relu_squared", "the square of a ReLU", "relu squared"),
    _activation("mlp_elu", "ELU", "elu"),
    _activation("mlp_silu", "SiLU", "silu"),
    _activation("mlp_mish", "Mish", "mish"),
    _activation("mlp_softplus", "softplus", "softplus"),
    _activation("mlp_tanh", "tanh", "tanh"),
    _activation("mlp_sigmoid", "a sigmoid", "sigmoid"),
    _activation("mlp_softmax", "a softmax", "softmax"),
    _activation("mlp_gelu_sigmoid", "x sigmoid(1.702 x), a rough form of GELU", "gelu sigmoid"),
    _mlp(
        "mlp_linear",
        "There is no activation between the two linear maps, and so together they are one.",
        "the line between them",
        "activation",
        ("none",),
    ),
    _mlp(
        "mlp_activation_last",
        "GELU comes after the second linear map; it belongs between the two.",
        "the order of the steps in forward",
        "activation",
        ("after",),
    ),
    _mlp(
        "mlp_activation_first",
        "GELU comes before the first linear map; it belongs between the two.",
        "the order of the steps in forward",
        "activation",
        ("before",),
    ),
    _mlp(
        "mlp_activation_twice",
        "A GELU follows the second linear map too; none should.",
        "the last line of forward",
        "activation",
        ("twice",),
    ),
    _mlp(
        "mlp_activation_doubled",
        "Two GELUs follow each other between the linear maps; one should.",
        "the lines between them",
        "activation",
        ("doubled",),
    ),
    _mlp(
        "mlp_adds_input",
        "The input is added to the output; that sum is the block's, not the MLP's.",
        "the last line of forward",
        "add",
        ("input",),
    ),
    _mlp("mlp_width", "The MLP is not 4d wide inside.", "the sizes of the two linear maps"),
    _mlp("mlp_up_bias_missing", "The first linear map has no bias.", "the layer that makes it"),
    _mlp("mlp_down_bias_missing", "The second linear map has no bias.", "the layer that makes it"),
    _mlp("mlp_biases_missing", "Neither linear map has a bias.", "the layers that make them"),
    _mlp(
        "mlp_gelu_tanh",
        "Your GELU is the tanh form, as in GPT-2; F.gelu's default is exact. Both are accepted.",
        "",
        "activation",
        ("gelu tanh",),
        accepted=True,
    ),
)
