# /// bank
# about = "parameter_count has the V x d matrix once, as if the unembedding were tied"
# facts = "section 4"
# extends = "reference"
# extends_paper = true
# also = ["formula_tied"]
# [loses]
# "parameters.formula" = "failed"
# ///
#: file paper.py


def parameter_count(V, T_max, d, L):
    parts = {
        "embeddings": (V + T_max) * d,
        "attention": L * (4 * d * d + d),
        "mlp": L * (8 * d * d + 5 * d),
        "block_norms": L * 4 * d,
        "final": 2 * d,
    }
    parts["total"] = sum(parts.values())
    return parts
