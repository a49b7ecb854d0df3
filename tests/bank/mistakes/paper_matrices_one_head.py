# /// bank
# about = "block_matrices has the matrices of a single head"
# facts = "section 4"
# extends = "reference"
# extends_paper = true
# also = ["matrices_of_one_head"]
# [loses]
# "paper.block_matrices" = "failed"
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///
#: file paper.py


def block_matrices(d):
    d_head = d // 4
    return {
        "W_Q": (d, d_head),
        "W_K": (d, d_head),
        "W_V": (d, d_head),
        "W_O": (d, d),
        "W_up": (d, 4 * d),
        "W_down": (4 * d, d),
    }
