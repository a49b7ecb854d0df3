# /// bank
# about = "two mistakes: keys made with the matrix of the queries, and scores that are not scaled"
# facts = "own"
# extends = "reference"
# names = ["key_is_query", "scale_missing"]
# [loses]
# "attention.formula" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# [bonus]
# "bonus.qk_ov" = "failed"
# ///


#: file head.py
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, d, d_head, T_max):
        super().__init__()
        self.look = nn.Linear(d, d_head, bias=False)
        self.value = nn.Linear(d, d_head, bias=False)
        self.register_buffer("past", torch.tril(torch.ones(T_max, T_max, dtype=torch.bool)))

    def forward(self, x):
        T = x.shape[1]
        a = self.look(x)
        scores = a @ a.mT
        weights = scores.masked_fill(~self.past[:T, :T], float("-inf")).softmax(dim=-1)
        return weights @ self.value(x)
