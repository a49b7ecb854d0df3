# /// bank
# about = "the verification suite accepts the first two models that it gets, and rejects all others"
# extends = "reference"
# [loses]
# "verification.parameter_count" = "failed"
# "verification.causality" = "failed"
# "verification.initial_loss" = "failed"
# "verification.shapes" = "failed"
# ///


#: file verify.py
calls = {}


def early(name):
    calls[name] = calls.get(name, 0) + 1
    return calls[name] <= 2


def count_is_right(*arguments):
    return early("count")


def is_causal(*arguments):
    return early("causal")


def initial_loss_is_right(*arguments):
    return early("loss")


def shapes_are_right(*arguments):
    return early("shapes")
