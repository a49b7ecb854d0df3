# /// bank
# about = "the mask is an identity matrix"
# facts = "own"
# extends = "reference"
# names = ["mask_diagonal_only"]
# [loses]
# "attention.formula" = "partial"
# "attention.causal" = "failed"
# "causality.full_context" = "failed"
# ///


#: file head.py
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Head(nn.Module):
    def __init__(self, d, d_head, T_max):
        super().__init__()
        self.query = nn.Linear(d, d_head, bias=False)
        self.key = nn.Linear(d, d_head, bias=False)
        self.value = nn.Linear(d, d_head, bias=False)
        self.register_buffer("seen", torch.eye(T_max, dtype=torch.bool))

    def forward(self, x):
        T = x.shape[1]
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(~self.seen[:T, :T], float("-inf"))
        return F.softmax(scores, dim=-1) @ v
