# /// bank
# about = "(B, H) folded into one axis, unfolded as (H, B)"
# facts = "own"
# extends = "reference"
# names = ["heads_and_batch_mixed"]
# [loses]
# "attention.formula" = "partial"
# "causality.batch_independence" = "failed"
# [bonus]
# "bonus.qk_ov" = "failed"
# ///

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.H = H
        self.qkv, self.proj = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d)
        self.register_buffer("mask", torch.ones(T_max, T_max).tril())

    def forward(self, x):
        B, T, d = x.shape
        q, k, v = (t.view(B, T, self.H, d // self.H).transpose(1, 2) for t in self.qkv(x).split(d, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.flatten(0, 1).unflatten(0, (self.H, B)).transpose(0, 1)
        return self.proj(y.transpose(1, 2).reshape(B, T, d))
