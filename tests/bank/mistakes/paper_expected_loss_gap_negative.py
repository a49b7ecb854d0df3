# /// bank
# about = "expected_initial_loss: the variance of a logit is subtracted, not added"
# facts = "own"
# extends = "reference"
# extends_paper = true
# also = ["expected_loss_gap_negative"]
# [loses]
# "paper.expected_loss" = "failed"
# ///
#: file paper.py


def expected_initial_loss(V, d, std):
    return math.log(V) - d * std**2 / 2
