"""List mistakes in the logits and the loss."""

from __future__ import annotations

from functools import partial

from autograder.assignment.mistakes.row import Mistake

_loss = partial(Mistake, "loss", "task 5.3")

WRONG_AXIS = r"Expected target size|Expected input batch_size"
LOSS_SUMMED = _loss(
    "loss_summed", "That is the sum over all positions; it should be the mean.", "the arguments of the loss"
)
LOSS_SUMMED_OVER_TIME = _loss(
    "loss_summed_over_time",
    "That is T times the mean: the loss is summed over time and averaged over the batch.",
    "how the losses of all positions become one number",
)
LOSS_SUMMED_OVER_BATCH = _loss(
    "loss_summed_over_batch",
    "That is B times the mean: the loss is summed over the batch and averaged over time.",
    "how the losses of all positions become one number",
)
LOSS_IN_BITS = _loss(
    "loss_in_bits", "That is the loss in bits, 1/ln 2 times as large; it should be in nats.", "the logarithm"
)
LOSS_SCALED = _loss(
    "loss_scaled",
    "The loss is multiplied by a constant; it should be the cross-entropy itself.",
    "what happens to the loss after F.cross_entropy",
)
LOSS_SHIFTED = _loss(
    "loss_shifted",
    "The same amount, whatever the tokens are, is added to the cross-entropy, as a weight penalty would be.",
    "what is added to the loss",
)
LOSS_EXPONENTIAL = _loss(
    "loss_exponential",
    "That is the exponential of the cross-entropy (the perplexity).",
    "what happens to the loss after F.cross_entropy",
)
LOSS_LABEL_SMOOTHING = _loss(
    "loss_label_smoothing", "The loss uses label smoothing.", "the arguments of F.cross_entropy"
)
LOSS_WEIGHTS_CLASSES = _loss(
    "loss_weights_classes",
    "The loss is a weighted mean: some target classes count more than others.",
    "the weight and ignore_index arguments of F.cross_entropy",
)
LOSS_OF_INPUTS = _loss(
    "loss_of_inputs",
    "That is the loss against idx instead of the targets.",
    "the arguments of the loss",
    code="cross_entropy|nll_loss",
)
LOSS_NEGATED = _loss("loss_negated", "That is the correct loss with the wrong sign.", "the sign of the loss")
LOSS_OF_LAST_POSITION = _loss(
    "loss_of_last_position",
    "That is the loss at the last position only.",
    "the arguments of the loss",
    code="cross_entropy|nll_loss",
)
LOGITS_REORDERED = _loss(
    "logits_reordered",
    "You get that loss if the logits are reordered and no longer match the targets.",
    "how the logits are flattened",
)
TARGETS_REORDERED = _loss(
    "targets_reordered",
    "You get that loss if the targets are reordered and no longer match the logits.",
    "how the targets are flattened",
)
TARGETS_SHIFTED_TWICE = _loss(
    "targets_shifted_twice",
    "You get that loss if the targets are shifted by one; forward's targets already are.",
    "any slice of the logits or the targets before the loss",
    code="cross_entropy|nll_loss",
)
LOSS_CLASS_AXIS = _loss(
    "loss_class_axis",
    "F.cross_entropy treats positions as classes: it expects the classes on dim=1.",
    "the shapes of F.cross_entropy's inputs",
    raises=(("RuntimeError", WRONG_AXIS), ("ValueError", WRONG_AXIS)),
    code="cross_entropy|nll_loss",
)
LOSS_OF_PROBABILITIES = _loss(
    "loss_of_probabilities",
    "You get that loss if F.cross_entropy is given probabilities; it applies the softmax itself.",
    "any softmax before the loss",
    code="softmax",
)
LOSS_DETACHED = _loss(
    "loss_detached",
    "The loss does not depend on the parameters: it is detached from the graph.",
    "any detach, item, no_grad or new tensor between the logits and the loss",
    raises=(("RuntimeError", r"does not require grad"), ("TypeError", r"the loss is a plain number")),
    code=r"detach|item\(|no_grad",
)
LOGITS_FLATTENED = _loss(
    "logits_flattened",
    "With targets, the logits are returned flattened to (B*T, V).",
    "the tensor flattened for the loss, and the one returned",
)
LOGITS_OF_LAST_POSITION = _loss(
    "logits_of_last_position",
    "Only the last position's logits are returned; forward should return those of all positions.",
    "any slice of x before the unembedding",
)
LOGITS_NOT_RETURNED = _loss(
    "logits_not_returned",
    "With targets, only the loss is returned; return the logits, then the loss.",
    "the last line of forward",
)
