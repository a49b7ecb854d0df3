# /// bank
# about = "block_matrices joins the two matrices of the MLP into one"
# facts = "20"
# extends = "reference"
# extends_paper = true
# [loses]
# "paper.block_matrices" = "failed"
# ///
#: file paper.py


def block_matrices(d):
    return {"W_Q": (d, d), "W_K": (d, d), "W_V": (d, d), "W_O": (d, d), "mlp": (d, 8 * d)}
