"""List mistakes in MLP."""

from __future__ import annotations

from functools import partial

from autograder.assignment.mistakes.row import Mistake

_mlp = partial(Mistake, "mlp", "task 5.2")


def _activation(name: str, activation: str, variant: str) -> Mistake:
    return _mlp(
        name,
        f"The activation is {activation}; it should be GELU.",
        "the line between the two linear layers",
        "activation",
        (variant,),
    )


ROWS = (
    _activation("mlp_relu", "ReLU", "relu"),
    _activation("mlp_leaky_relu", "leaky ReLU", "leaky_relu"),
    _activation("mlp_relu_squared", "squared ReLU", "relu_squared"),
    _activation("mlp_elu", "ELU", "elu"),
    _activation("mlp_silu", "SiLU", "silu"),
    _activation("mlp_mish", "Mish", "mish"),
    _activation("mlp_softplus", "softplus", "softplus"),
    _activation("mlp_tanh", "tanh", "tanh"),
    _activation("mlp_sigmoid", "sigmoid", "sigmoid"),
    _activation("mlp_softmax", "softmax", "softmax"),
    _activation("mlp_gelu_sigmoid", "x * sigmoid(1.702 * x), an approximation of GELU", "gelu_sigmoid"),
    _mlp(
        "mlp_linear",
        "There is no activation between the two linear layers, so together they are one linear map.",
        "the line between the two linear layers",
        "activation",
        ("linear",),
    ),
    _mlp(
        "mlp_activation_last",
        "GELU comes after the down-projection; it belongs between the two linear layers.",
        "the order of the steps in forward",
        "activation",
        ("last",),
    ),
    _mlp(
        "mlp_activation_first",
        "GELU comes before the up-projection; it belongs between the two linear layers.",
        "the order of the steps in forward",
        "activation",
        ("first",),
    ),
    _mlp(
        "mlp_activation_twice",
        "A second GELU follows the down-projection; no activation should.",
        "the last line of forward",
        "activation",
        ("twice",),
    ),
    _mlp(
        "mlp_activation_doubled",
        "GELU is applied twice between the two linear layers; it should be applied once.",
        "the lines between the two linear layers",
        "activation",
        ("doubled",),
    ),
    _mlp(
        "mlp_adds_input",
        "The MLP adds its input to its output; the residual connection belongs in Block.",
        "the last line of forward",
        "add",
        ("input",),
    ),
    _mlp("mlp_width", "The MLP's inner width is not 4d.", "the sizes of the two linear layers"),
    _mlp("mlp_up_bias_missing", "The up-projection has no bias.", "how the up-projection is created"),
    _mlp("mlp_down_bias_missing", "The down-projection has no bias.", "how the down-projection is created"),
    _mlp("mlp_biases_missing", "Neither linear layer has a bias.", "how the linear layers are created"),
    _mlp(
        "mlp_gelu_tanh",
        "Your GELU is the tanh approximation, as in GPT-2; F.gelu's default is exact. Both are accepted.",
        "",
        "activation",
        ("gelu_tanh",),
        accepted=True,
    ),
)
