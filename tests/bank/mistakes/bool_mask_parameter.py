# /// bank
# about = "the mask is a parameter of booleans"
# facts = "own"
# extends = "reference"
# also = ["mask_is_parameter"]
# [loses]
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
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
        self.mask = nn.Parameter(torch.tril(torch.ones(T_max, T_max, dtype=torch.bool)), requires_grad=False)

    def forward(self, x):
        T = x.shape[1]
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask[:T, :T], float("-inf"))
        return F.softmax(scores, dim=-1) @ v
