"""List mistakes in initialisation."""

from __future__ import annotations

from functools import partial

from autograder.assignment.mistakes.row import Mistake

_initial = partial(Mistake, "initial_loss", "task 5.4 (3)")

WEIGHTS_UNINITIALISED = _initial(
    "weights_uninitialised",
    "A parameter is never initialised: it starts with arbitrary values, or with values that are not finite.",
    "torch.empty, which reserves memory without filling it",
    code=r"torch\.empty",
)
UNEMBEDDING_INIT_STD = _initial(
    "unembedding_init_std",
    "The unembedding's initial weights are too large; that alone explains the spread of the logits.",
    "the initialisation of the unembedding",
    code="std|normal_",
)
SCALING_MISSING = _initial(
    "scaling_missing",
    "Neither projection is scaled: the scaling is missing, or a later initialisation undoes it.",
    "the order in which GPT builds, initialises and scales",
)
SCALING_ATTENTION_MISSING = _initial(
    "scaling_attention_missing",
    "The MLP's down-projection is scaled, but the attention's projection is not.",
    "the loop that scales",
)
SCALING_MLP_MISSING = _initial(
    "scaling_mlp_missing",
    "The attention's projection is scaled, but the MLP's down-projection is not.",
    "the loop that scales",
)
SCALING_SQRT_L = _initial(
    "scaling_sqrt_L",
    "Both projections are scaled by 1/sqrt(L), but each block adds to the residual stream twice: 2L additions.",
    "the factor",
    code=r"sqrt|\*\*",
)
SCALING_REPEATED = _initial(
    "scaling_repeated",
    "Earlier blocks are scaled again for each later one, as if inside the loop that builds them.",
    "the indentation of the scaling loop",
    code=r"sqrt|\*\*",
)
SCALING_WRONG_CONSTANT = _initial(
    "scaling_wrong_constant",
    "The factor shrinks with L, but it is not 1/sqrt(2L): each block adds to the residual stream twice.",
    "the factor",
    code=r"sqrt|\*\*",
)
SCALING_OF_OTHER_MATRICES = _initial(
    "scaling_of_other_matrices",
    "Matrices that don't add to the residual stream are scaled; in each block, scale only "
    "the attention's projection and the MLP's down-projection.",
    "which matrices the loop scales",
)
SCALING_WITHOUT_SQRT = _initial(
    "scaling_without_sqrt",
    "Both projections are scaled by 1/(2L); the variances add, so the factor should be 1/sqrt(2L).",
    "the factor",
    code=r"2 ?\* ?(self\.)?(L|n_layers?)",
)
SCALING_INVERTED = _initial(
    "scaling_inverted", "The factor is sqrt(2L), so the weights grow instead of shrinking.", "the factor"
)
SCALING_CONSTANT = _initial(
    "scaling_constant",
    "Something is scaled, but by a factor that does not depend on the number of blocks.",
    "the factor: it should use the L passed to GPT",
    code=r"sqrt|\*\*",
)
SCALING_BIASES_ONLY = _initial(
    "scaling_biases_only",
    "The biases of both projections are scaled, but the weights are not.",
    "which tensors the loop scales",
    code="bias",
)
SCALING_OF_SHARED_BLOCK = _initial(
    "scaling_of_shared_block",
    "All blocks are the same object, so the loop scales its weights L times.",
    "how the blocks are created",
    code=r"Block\(",
)
