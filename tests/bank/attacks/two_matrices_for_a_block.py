# /// bank
# about = "block_matrices names two matrices, which no block has, with 12 d^2 entries"
# facts = "20"
# extends = "reference"
# extends_paper = true
# [loses]
# "paper.block_matrices" = "failed"
# ///
#: file paper.py


def block_matrices(d):
    return {"attention": (2 * d, 2 * d), "mlp": (4 * d, 2 * d)}
