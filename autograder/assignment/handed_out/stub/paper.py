"""The paper exercises as functions: derive each result with pen and paper, then write it down as code.

Letters for sizes as in gpt.py: V different tokens, T_max places, width d, L blocks. The hidden layer of the MLP has
width 4d. These functions calculate with numbers only; they never build a model. Replace each
`raise NotImplementedError()` with your own code.
"""

import math

import torch


def parameter_count(V, T_max, d, L):
    """How many parameters the GPT of gpt.py has (not tied), part by part.

    In: four whole numbers. Out: a dict of whole numbers with exactly these keys:

        "embeddings"    token and position embedding
        "attention"     all heads and output maps of all L blocks
        "mlp"           both linear maps of all L MLPs
        "block_norms"   all LayerNorms inside the blocks
        "final"         the last LayerNorm and the unembedding
        "total"         the sum of the five

    Count each bias where the model has one, and only there. The number of heads H is not an argument: why not?
    At the course's sizes (V=65, T_max=64, d=128, L=4) the total is 816,640.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


def parameter_shares(V, T_max, d, L):
    """Which percentage of all parameters each part holds.

    In: as for parameter_count. Out: a dict with the keys of parameter_count except "total". The values are percentages
    of the total, not rounded: 2.0 means two per cent. Together they give 100.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


def block_matrices(d):
    """The matrices of one block that the rule of thumb "the blocks have about 12 L d^2 parameters" counts.

    In: the width d. Out: a dict {name: (rows, columns)} with one entry per matrix, such as {"W_Q": (..., ...)}. Choose
    short names for the others yourself. Taken together, the entries have exactly 12 d^2 numbers.

    Matrices of the same kind from all heads stand side by side as one matrix, so H plays no role. Vectors are rows: a
    matrix that takes x to x W has as many rows as x has numbers. The rule ignores what else a block holds: what is it?
    """
    # YOUR CODE HERE
    raise NotImplementedError()


def expected_initial_loss(V, d, std):
    """The loss that an untrained model should show on average, for targets drawn at random.

    In: V, d, and std, the standard deviation of the entries of the unembedding. Out: one number (float).

    Take as given: what the last LayerNorm hands over is a vector of length sqrt(d), and the entries of the unembedding
    are independent, with mean 0 and standard deviation std. So each of the V logits is close to a normal variable with
    mean 0: what is its variance? The loss is the logarithm of the sum of e^logit over all V tokens, minus the logit of
    the target. Replace that sum by V times its mean (the mean of e^z for a normal z is a known formula).

    Try the std of PyTorch's own start, which draws the entries evenly between -1/sqrt(d) and 1/sqrt(d) (that is not yet
    their standard deviation), and 0.02 as in GPT-2. On which side of ln V do the results lie, and why?
    """
    # YOUR CODE HERE
    raise NotImplementedError()


def layer_norm_geometry(u):
    """LayerNorm without gain, bias and eps, as two steps of geometry.

    In: u, a torch tensor of shape (d,) with d >= 2, whose entries are floats and not all equal.
    Out: a tensor of shape (d,).

    First project u at right angles onto the space of all vectors that are perpendicular to (1, 1, ..., 1). Then stretch
    or shrink the result, without turning it, to length sqrt(d). Write these two steps yourself, and compare the result
    with PyTorch's layer_norm.

    If all entries are equal, the first step gives zero, which has no direction to keep: no answer is expected.
    """
    # YOUR CODE HERE
    raise NotImplementedError()
