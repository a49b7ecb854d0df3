# /// bank
# about = "-1e9 added where the position may be read, as if the 0/1 mask were additive; later ones at -inf"
# facts = "M13"
# extends = "reference"
# names = ["scores_swamped"]
# [loses]
# "attention.formula" = "partial"
# ///


#: file head.py
import math

import torch
from torch import nn
from torch.nn import functional as F


class Head(nn.Module):
    def __init__(self, d, d_head, T_max):
        super().__init__()
        self.query = nn.Linear(d, d_head, bias=False)
        self.key = nn.Linear(d, d_head, bias=False)
        self.value = nn.Linear(d, d_head, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(T_max, T_max)))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(k.shape[-1])
        scores = scores.masked_fill(self.tril[:T, :T] == 0, float("-inf")) + self.tril[:T, :T] * -1e9
        weights = F.softmax(scores, dim=-1)
        return weights @ v
