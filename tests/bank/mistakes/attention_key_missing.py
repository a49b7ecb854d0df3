# /// bank
# about = "one matrix makes the queries and the keys; there are two in each head"
# facts = "own"
# extends = "reference"
# names = ["key_is_query"]
# [loses]
# "attention.formula" = "partial"
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
        scores = a @ a.mT / a.shape[-1] ** 0.5
        weights = scores.masked_fill(~self.past[:T, :T], float("-inf")).softmax(dim=-1)
        return weights @ self.value(x)
