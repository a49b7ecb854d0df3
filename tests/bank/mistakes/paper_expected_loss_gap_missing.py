# /// bank
# about = "expected_initial_loss: ln V alone"
# facts = "own"
# extends = "reference"
# extends_paper = true
# also = ["expected_loss_gap_missing"]
# [loses]
# "paper.expected_loss" = "failed"
# ///
#: file paper.py


def expected_initial_loss(V, d, std):
    return math.log(V)
