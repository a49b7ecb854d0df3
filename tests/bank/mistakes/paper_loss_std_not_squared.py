# /// bank
# about = "expected_initial_loss has std where its square belongs"
# facts = "section 4"
# extends = "reference"
# extends_paper = true
# also = ["expected_loss_std"]
# [loses]
# "paper.expected_loss" = "failed"
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///
#: file paper.py


def expected_initial_loss(V, d, std):
    variance = d * std
    return math.log(V) + variance / 2
