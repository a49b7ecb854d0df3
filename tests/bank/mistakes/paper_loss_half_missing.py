# /// bank
# about = "expected_initial_loss adds the whole variance of a logit, not half of it"
# facts = "section 4"
# extends = "reference"
# extends_paper = true
# also = ["expected_loss_gap_doubled"]
# [loses]
# "paper.expected_loss" = "failed"
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///
#: file paper.py


def expected_initial_loss(V, d, std):
    return math.log(V) + d * std**2
