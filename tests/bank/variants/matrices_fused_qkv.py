# /// bank
# about = "block_matrices lists queries, keys and values as one matrix"
# facts = "3b"
# extends = "reference"
# extends_paper = true
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///
#: file paper.py


def block_matrices(d):
    return {"W_QKV": (d, 3 * d), "W_O": (d, d), "W_up": (d, 4 * d), "W_down": (4 * d, d)}
