# /// bank
# about = "scores multiplied by d_head"
# facts = "own"
# extends = "reference"
# names = ["scale_times_d_head"]
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
        d_head = q.shape[-1]
        scores = (q @ k.transpose(1, 2)) * d_head
        scores[:, self.tril[:T, :T] == 0] = -math.inf
        return torch.softmax(scores, dim=2) @ v
