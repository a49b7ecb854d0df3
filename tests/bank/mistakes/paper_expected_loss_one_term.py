# /// bank
# about = "expected_initial_loss: the variance of one term of a logit, not of all d"
# facts = "own"
# extends = "reference"
# extends_paper = true
# also = ["expected_loss_one_term"]
# [loses]
# "paper.expected_loss" = "failed"
# ///
#: file paper.py


def expected_initial_loss(V, d, std):
    return math.log(V) + std**2 / 2
