"""List mistakes in MLP."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from autograder.assignment.mistakes.row import CountChange, Mistake
from autograder.assignment.oracle.model import Function, Steps, gelu
from autograder.assignment.oracle.parameter_count import ParameterCounts

if TYPE_CHECKING:
    from torch import Tensor

_mlp = partial(Mistake, "mlp", "task 5.2")


def _with_activation(function: Function) -> Steps:
    return Steps(feed_forward=lambda x, up, down: down(function(up(x))))


def _activation(name: str, activation: str, function: Function) -> Mistake:
    return _mlp(
        name,
        f"The activation is {activation}; it should be GELU.",
        "the line between the two linear layers",
        steps=(_with_activation(function),),
    )


def _softplus(x: Tensor) -> Tensor:
    """Compute log(1 + exp(x)) without overflow."""
    return x.logaddexp(x.new_zeros(()))


def _has_other_width(c: ParameterCounts) -> bool:
    d, shapes = c.dims.d, c.matrix_shapes("mlp")
    sizes = {size for shape in shapes for size in shape} - {d}
    return bool(shapes) and all(d in shape for shape in shapes) and 4 * d not in sizes


MLP_RELU = _activation("mlp_relu", "ReLU", lambda x: x.relu())
MLP_LEAKY_RELU = _activation("mlp_leaky_relu", "leaky ReLU", lambda x: x.where(x > 0, 0.01 * x))
MLP_RELU_SQUARED = _activation("mlp_relu_squared", "squared ReLU", lambda x: x.relu().square())
MLP_ELU = _activation("mlp_elu", "ELU", lambda x: x.where(x > 0, x.expm1()))
MLP_SILU = _activation("mlp_silu", "SiLU", lambda x: x * x.sigmoid())
MLP_MISH = _activation("mlp_mish", "Mish", lambda x: x * _softplus(x).tanh())
MLP_SOFTPLUS = _activation("mlp_softplus", "softplus", _softplus)
MLP_TANH = _activation("mlp_tanh", "tanh", lambda x: x.tanh())
MLP_SIGMOID = _activation("mlp_sigmoid", "sigmoid", lambda x: x.sigmoid())
MLP_SOFTMAX = _activation("mlp_softmax", "softmax", lambda x: x.softmax(-1))
MLP_GELU_SIGMOID = _activation(
    "mlp_gelu_sigmoid", "x * sigmoid(1.702 * x), an approximation of GELU", lambda x: x * (1.702 * x).sigmoid()
)
MLP_LINEAR = _mlp(
    "mlp_linear",
    "There is no activation between the two linear layers, so together they are one linear map.",
    "the line between the two linear layers",
    steps=(Steps(feed_forward=lambda x, up, down: down(up(x))),),
)
MLP_ACTIVATION_LAST = _mlp(
    "mlp_activation_last",
    "GELU comes after the down-projection; it belongs between the two linear layers.",
    "the order of the steps in forward",
    steps=(Steps(feed_forward=lambda x, up, down: gelu(down(up(x)))),),
)
MLP_ACTIVATION_FIRST = _mlp(
    "mlp_activation_first",
    "GELU comes before the up-projection; it belongs between the two linear layers.",
    "the order of the steps in forward",
    steps=(Steps(feed_forward=lambda x, up, down: down(up(gelu(x)))),),
)
MLP_ACTIVATION_TWICE = _mlp(
    "mlp_activation_twice",
    "A second GELU follows the down-projection; no activation should.",
    "the last line of forward",
    steps=(Steps(feed_forward=lambda x, up, down: gelu(down(gelu(up(x))))),),
)
MLP_ACTIVATION_DOUBLED = _mlp(
    "mlp_activation_doubled",
    "GELU is applied twice between the two linear layers; it should be applied once.",
    "the lines between the two linear layers",
    steps=(Steps(feed_forward=lambda x, up, down: down(gelu(gelu(up(x))))),),
)
MLP_BIAS_AFTER_ACTIVATION = _mlp(
    "mlp_bias_after_activation",
    "The up-projection's bias is added after GELU; it belongs before.",
    "the line between the two linear layers",
    steps=(Steps(feed_forward=lambda x, up, down: down(gelu(up(x) - up(0 * x)) + up(0 * x))),),
)
MLP_ADDS_INPUT = _mlp(
    "mlp_adds_input",
    "The MLP adds its input to its output; the residual connection belongs in Block.",
    "the last line of forward",
    steps=(Steps(output=lambda x, out: x + out),),
)
MLP_WIDTH = _mlp(
    "mlp_width",
    "The MLP's inner width is not 4d.",
    "the sizes of the two linear layers",
    counts=(CountChange("mlp", lambda c: c.delta("mlp"), _has_other_width),),
    method="__init__",
)
MLP_UP_BIAS_MISSING = _mlp(
    "mlp_up_bias_missing",
    "The up-projection has no bias.",
    "how the up-projection is created",
    counts=(CountChange("mlp", lambda c: -4 * c.dims.d * c.dims.L),),
    method="__init__",
)
MLP_DOWN_BIAS_MISSING = _mlp(
    "mlp_down_bias_missing",
    "The down-projection has no bias.",
    "how the down-projection is created",
    counts=(CountChange("mlp", lambda c: -c.dims.d * c.dims.L),),
    method="__init__",
)
MLP_BIASES_MISSING = _mlp(
    "mlp_biases_missing",
    "Neither linear layer has a bias.",
    "how the linear layers are created",
    counts=(CountChange("mlp", lambda c: -5 * c.dims.d * c.dims.L),),
    method="__init__",
)
MLP_GELU_TANH = _mlp(
    "mlp_gelu_tanh",
    "Your GELU is the tanh approximation, as in GPT-2; F.gelu's default is exact. Both are accepted.",
    "",
    steps=(_with_activation(lambda x: 0.5 * x * (1 + (math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)).tanh())),),
    accepted=True,
)
