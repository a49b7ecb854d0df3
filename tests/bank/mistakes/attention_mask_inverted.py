# /// bank
# about = "masked_fill(tril == 1, -1e9): what may be read is filled"
# facts = "own"
# extends = "reference"
# names = ["mask_inverted"]
# [loses]
# "attention.formula" = "partial"
# "attention.causal" = "failed"
# "causality.full_model" = "failed"
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
        self.register_buffer("tril", torch.tril(torch.ones(T_max, T_max)))

    def forward(self, x):
        T = x.shape[1]
        scores = self.query(x) @ self.key(x).transpose(-2, -1) / math.sqrt(self.key.out_features)
        scores = scores.masked_fill(self.tril[:T, :T] == 1, -1e9)
        return F.softmax(scores, dim=-1) @ self.value(x)
