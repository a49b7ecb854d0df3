"""Your verification suite: four functions that test any model that behaves like GPT in gpt.py.

Each returns True for every correct model and False for every wrong one. A model can be yours, or one that you have
never seen, so use only what every model offers: `model(idx)`, `model(idx, targets)` and `model.parameters()`. Its
attributes may have other names than yours, and sizes differ from call to call.

Try each function on your own model first; it has to return True. Then break a copy of your model, and see whether the
function notices. Replace each `raise NotImplementedError()` with your own code.
"""

import math

import torch

from paper import expected_initial_loss, parameter_count


def count_is_right(model, V, T_max, d, L):
    """Return whether the model has exactly as many parameters as your formula says, all of them trainable.

    A parameter p is trainable if p.requires_grad is True.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


def is_causal(model, V, T_max):
    """Return whether no logit depends on a later token.

    A model may leak at one position only, at one length only, or very little. Which lengths and positions do you
    compare, and how exactly? What does a comparison such as `difference > 0` give for nan?
    """
    # YOUR CODE HERE
    raise NotImplementedError()


def initial_loss_is_right(make_model, V, T_max, d):
    """Return whether new models start at the loss that exercise 4 leads you to expect.

    Each call of make_model() returns a new model with new initial weights. The unembedding may be initialised as in
    PyTorch (uniformly between -1/sqrt(d) and 1/sqrt(d)) or as in GPT-2 (standard deviation 0.02): both are right.
    How much does the loss vary from batch to batch, and from model to model? Can a wrong model have the right loss?
    """
    # YOUR CODE HERE
    raise NotImplementedError()


def shapes_are_right(model, V, T_max, d, L):
    """Return whether forward returns outputs of the right shapes.

    Without targets it returns logits of shape (B, T, V); with targets, a pair: these logits and the loss, one number.
    This must hold for every B, and for every T from 1 to T_max.
    """
    # YOUR CODE HERE
    raise NotImplementedError()
