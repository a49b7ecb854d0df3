# /// bank
# about = "parameter_count returns a dict the first time, then a tensor, infinity and None"
# facts = "19"
# extends = "reference"
# extends_paper = true
# [loses]
# "parameters.formula" = "failed"
# "parameters.percentages" = "failed"
# ///
#: file paper.py


calls = 0
KEYS = ("embeddings", "attention", "mlp", "block_norms", "final", "total")


def parameter_count(V, T_max, d, L):
    global calls
    calls += 1
    return [dict.fromkeys(KEYS, 1), torch.zeros(3), dict.fromkeys(KEYS, float("inf")), None, "1", [1]][(calls - 1) % 6]
