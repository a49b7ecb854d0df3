"""The paper exercises as functions: derive each result with pen and paper, then implement it.

Sizes as in gpt.py: vocabulary size V, maximum context length T_max, width d, L blocks. The hidden layer of the MLP has
width 4d. These functions only compute with numbers; they never build a model. Replace each
`raise NotImplementedError()` with your own code.
"""

import math

import torch


def parameter_count(V, T_max, d, L):
    """Count the parameters of the (untied) GPT of gpt.py, part by part.

    In: four ints. Out: a dict of ints with exactly these keys:

        "embeddings"    token and position embeddings
        "attention"     all heads and output projections of all L blocks
        "mlp"           up- and down-projections of all L MLPs
        "block_norms"   all LayerNorms inside the blocks
        "final"         the final LayerNorm and the unembedding
        "total"         the sum of the five

    Count a bias only where the model has one. The number of heads H is not an argument: why not?
    At the course's sizes (V=65, T_max=64, d=128, L=4) the total is 816,640.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


def parameter_shares(V, T_max, d, L):
    """Return each part's percentage of all parameters.

    In: as for parameter_count. Out: a dict with the keys of parameter_count except "total". The values are percentages
    of the total, not rounded: 2.0 means two per cent. They sum to 100.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


def block_matrices(d):
    """Return the shapes of one block's matrices, those behind the rule of thumb "12 L d^2 parameters in the blocks".

    In: the width d. Out: a dict {name: (rows, columns)} with one entry per matrix, such as {"W_Q": (..., ...)}. Choose
    short names for the others yourself. Together, the matrices have exactly 12 d^2 entries.

    Concatenate the matrices of the same kind from all heads into one matrix, so H doesn't matter. Vectors are rows: if
    a matrix takes x to x W, it has as many rows as x has entries. Which parameters of a block does the rule ignore?
    """
    # YOUR CODE HERE
    raise NotImplementedError()


def expected_initial_loss(V, d, std):
    """Return the expected loss of an untrained model on random targets.

    In: V, d, and std, the standard deviation of the entries of the unembedding. Out: a float.

    Take as given: the final LayerNorm outputs vectors of norm sqrt(d), and the entries of the unembedding are
    independent, with mean 0 and standard deviation std. So each of the V logits is approximately normal with mean 0:
    what is its variance? The loss is the logarithm of the sum of e^logit over all V tokens, minus the logit of the
    target. Replace that sum by V times its mean (the mean of e^z for a normal z is a known formula).

    Try the std of PyTorch's default initialisation, which samples the entries uniformly between -1/sqrt(d) and
    1/sqrt(d) (this bound is not yet their standard deviation), and 0.02 as in GPT-2. Are the results above or below
    ln V, and why?
    """
    # YOUR CODE HERE
    raise NotImplementedError()


def layer_norm_geometry(u):
    """Apply LayerNorm without gain, bias and eps, as two geometric steps.

    In: u, a float tensor of shape (d,) with d >= 2, whose entries are not all equal.
    Out: a tensor of shape (d,).

    First project u orthogonally onto the subspace of vectors perpendicular to (1, 1, ..., 1). Then rescale the result
    to norm sqrt(d), keeping its direction. Write these two steps yourself, and compare the result with PyTorch's
    layer_norm.

    If all entries are equal, the projection is zero and has no direction; this case is not tested.
    """
    # YOUR CODE HERE
    raise NotImplementedError()
