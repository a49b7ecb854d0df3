# /// bank
# about = "block_matrices returns sizes whose product no float can hold"
# facts = "19"
# extends = "reference"
# extends_paper = true
# [loses]
# "paper.block_matrices" = "failed"
# ///
#: file paper.py


def block_matrices(d):
    return {"W": (1e308, 1e308), "V": (10**4000, 10**4000), "U": (True, torch.tensor(1 << 62))}
