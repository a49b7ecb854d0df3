# /// bank
# about = "parameter_count builds the layers of torch one by one and counts"
# facts = "20"
# extends = "reference"
# extends_paper = true
# [loses]
# "parameters.formula" = "failed"
# "parameters.percentages" = "failed"
# ///
#: file paper.py


def parameter_count(V, T_max, d, L):
    from torch import nn

    def size(*parts):
        return sum(p.numel() for part in parts for p in part.parameters())

    norm = size(nn.LayerNorm(d))
    parts = {
        "embeddings": size(nn.Embedding(V, d), nn.Embedding(T_max, d)),
        "attention": L * size(*(nn.Linear(d, d, bias=False) for _ in range(3)), nn.Linear(d, d)),
        "mlp": L * size(nn.Linear(d, 4 * d), nn.Linear(4 * d, d)),
        "block_norms": 2 * L * norm,
        "final": norm + size(nn.Linear(d, V, bias=False)),
    }
    return {**parts, "total": sum(parts.values())}
