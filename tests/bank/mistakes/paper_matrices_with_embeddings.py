# /// bank
# about = "block_matrices has the unembedding too, and forgets the output projection"
# facts = "section 4"
# extends = "reference"
# extends_paper = true
# unnamed = "two slips at once: one matrix too many and one too few"
# [loses]
# "paper.block_matrices" = "failed"
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///
#: file paper.py


def block_matrices(d):
    return {
        "W_Q": (d, d),
        "W_K": (d, d),
        "W_V": (d, d),
        "W_up": (d, 4 * d),
        "W_down": (4 * d, d),
        "W_U": (d, 65),
    }
