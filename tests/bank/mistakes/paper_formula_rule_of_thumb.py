# /// bank
# about = "parameter_count has the matrices of the blocks only (12 L d^2): their biases are forgotten"
# facts = "section 4"
# extends = "reference"
# also = ["formula_biases_missing"]
# [loses]
# "parameters.formula" = "failed"
# ///
#: file paper.py
import math

import torch


def parameter_count(V, T_max, d, L):
    embeddings = V * d + T_max * d
    attention = L * 4 * d**2
    mlp = L * 8 * d**2
    block_norms = L * 4 * d
    final = 2 * d + V * d
    total = embeddings + attention + mlp + block_norms + final
    return {
        "embeddings": embeddings,
        "attention": attention,
        "mlp": mlp,
        "block_norms": block_norms,
        "final": final,
        "total": total,
    }


def parameter_shares(V, T_max, d, L):
    count = parameter_count(V, T_max, d, L)
    return {k: 100 * count[k] / count["total"] for k in count if k != "total"}


def block_matrices(d):
    return {"W_Q": (d, d), "W_K": (d, d), "W_V": (d, d), "W_O": (d, d), "W_up": (d, 4 * d), "W_down": (4 * d, d)}


def expected_initial_loss(V, d, std):
    return math.log(V) + d * std**2 / 2


def layer_norm_geometry(u):
    v = u - u.mean()
    return math.sqrt(len(u)) * v / torch.linalg.norm(v)
