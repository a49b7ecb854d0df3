# /// bank
# about = "einsum with the axes of the weights swapped"
# facts = "own"
# extends = "reference"
# names = ["weights_transposed"]
# [loses]
# "attention.formula" = "partial"
# "attention.rows_sum_to_one" = "failed"
# "attention.causal" = "failed"
# "causality.full_model" = "failed"
# "causality.rows_sum_to_one" = "failed"
# ///


#: file head.py
import torch
import torch.nn as nn
import torch.nn.functional as F


class Head(nn.Module):
    def __init__(self, d, d_head, T_max):
        super().__init__()
        self.query = nn.Linear(d, d_head, bias=False)
        self.key = nn.Linear(d, d_head, bias=False)
        self.value = nn.Linear(d, d_head, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(T_max, T_max)))

    def forward(self, x):
        T = x.shape[1]
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = torch.einsum("bid,bjd->bij", q, k) / k.shape[-1] ** 0.5
        scores = scores.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return torch.einsum("bij,bid->bjd", F.softmax(scores, dim=-1), v)
