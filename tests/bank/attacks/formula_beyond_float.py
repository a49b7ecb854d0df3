# /// bank
# about = "the formula's numbers are huge integers, bools and arrays"
# facts = "19"
# extends = "reference"
# extends_paper = true
# [loses]
# "parameters.formula" = "failed"
# "parameters.percentages" = "failed"
# ///
#: file paper.py


KEYS = ("embeddings", "attention", "mlp", "block_norms", "final", "total")


def parameter_count(V, T_max, d, L):
    return dict(zip(KEYS, (10**400, True, torch.zeros(3), float("nan"), 1e300, [7])))


def parameter_shares(V, T_max, d, L):
    return dict(zip(KEYS, (1e308, 1e-320, True, torch.tensor(1e30), -(10**4000), 0)))
