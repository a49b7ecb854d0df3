# /// bank
# about = "the scores have a minus, as if they were distances"
# facts = "own"
# extends = "reference"
# names = ["scores_negated"]
# [loses]
# "attention.formula" = "partial"
# ///


#: file head.py
import math

import torch
import torch.nn as nn


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
        distances = -torch.einsum("btc,bsc->bts", q, k) / math.sqrt(k.shape[-1])
        distances = distances.masked_fill(self.tril[:T, :T] == 0, -math.inf)
        weights = torch.softmax(distances, -1)
        return torch.einsum("bts,bsc->btc", weights, v)
