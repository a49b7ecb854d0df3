# /// bank
# about = "the verification suite asks the grader for other models, for labels and for nonsense, and floods it"
# extends = "reference"
# [loses]
# "verification.parameter_count" = "failed"
# "verification.causality" = "failed"
# "verification.initial_loss" = "timeout"
# "verification.shapes" = "failed"
# ///


#: file verify.py
import torch

QUESTIONS = [
    ("label", 0),
    ("forward", 1, [], {}, None),
    ("forward", -1, [], {}, None),
    ("forward", "0", [], {}, None),
    ("gradients", 0, [], {}, None),
    ("make_under_test", {"model": ["is_causal", "no_mask"]}),
    None,
    {"make": 1},
]


def ask(model):
    question = next(value for name, value in vars(model).items() if name == "_ask")
    for text in QUESTIONS:
        answer = question(text)
        if "raised" not in answer:
            print("GAINED an answer to", text)
    weights = [torch.zeros(3), torch.zeros(10**5), torch.full((5,), float("nan")), torch.zeros(2, 2)]
    for given in weights:
        question(("forward", 0, [torch.zeros(1, 3, dtype=torch.long)], {}, given))
    for idx in (torch.zeros(10**6, 1, dtype=torch.long), torch.zeros(1, 3), torch.zeros(0, 0, dtype=torch.long), "x"):
        question(("forward", 0, [idx], {}, None))
    question(("gradients", 0, [torch.zeros(1, 3, dtype=torch.long)], {}, None, [torch.zeros(7)]))
    return True


def count_is_right(model, *arguments):
    return ask(model)


def is_causal(model, *arguments):
    return ask(model)


def shapes_are_right(model, *arguments):
    return ask(model)


def initial_loss_is_right(make_model, *arguments):
    while True:
        try:
            make_model()(torch.zeros(2000, 12, dtype=torch.long))
        except RuntimeError:
            pass
