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
    ### BEGIN SOLUTION
    parameters = list(model.parameters())
    count = sum(p.numel() for p in parameters)
    return count == parameter_count(V, T_max, d, L)["total"] and all(p.requires_grad for p in parameters)
    ### END SOLUTION


def is_causal(model, V, T_max):
    """Return whether no logit depends on a later token.

    A model may leak at one position only, at one length only, or very little. Which lengths and positions do you
    compare, and how exactly? What does a comparison such as `difference > 0` give for nan?
    """
    ### BEGIN SOLUTION
    for T in (T_max, T_max // 2):
        idx = torch.randint(V, (2, T))
        with torch.no_grad():
            logits = model(idx)
            for t in range(1, T):
                changed = idx.clone()
                changed[:, t:] = (changed[:, t:] + 1) % V
                if not torch.equal(model(changed)[:, :t], logits[:, :t]):  # nan is not equal to itself
                    return False
    return True
    ### END SOLUTION


def initial_loss_is_right(make_model, V, T_max, d):
    """Return whether new models start at the loss that exercise 4 leads you to expect.

    Each call of make_model() returns a new model with new initial weights. The unembedding may be initialised as in
    PyTorch (uniformly between -1/sqrt(d) and 1/sqrt(d)) or as in GPT-2 (standard deviation 0.02): both are right.
    How much does the loss vary from batch to batch, and from model to model? Can a wrong model have the right loss?
    """
    ### BEGIN SOLUTION
    low, high = math.log(V), expected_initial_loss(V, d, (3 * d) ** -0.5)
    for _ in range(3):
        model = make_model()
        idx, targets = torch.randint(V, (2, 64, T_max))
        with torch.no_grad():
            logits, loss = model(idx, targets)
        if not low - 0.03 < loss < high + 0.08:  # the mean over so many tokens varies by about 0.02
            return False
        if (logits >= 0).all():  # these would be probabilities
            return False
    return True
    ### END SOLUTION


def shapes_are_right(model, V, T_max, d, L):
    """Return whether forward returns outputs of the right shapes.

    Without targets it returns logits of shape (B, T, V); with targets, a pair: these logits and the loss, one number.
    This must hold for every B, and for every T from 1 to T_max.
    """
    ### BEGIN SOLUTION
    for B, T in ((1, 1), (3, 5), (2, T_max)):
        idx, targets = torch.randint(V, (2, B, T))
        with torch.no_grad():
            logits, pair = model(idx), model(idx, targets)
        if not (isinstance(logits, torch.Tensor) and logits.shape == (B, T, V)):
            return False
        if not (isinstance(pair, tuple) and len(pair) == 2):
            return False
        logits, loss = pair
        if not (isinstance(loss, torch.Tensor) and logits.shape == (B, T, V) and loss.shape == ()):
            return False
    return True
    ### END SOLUTION
