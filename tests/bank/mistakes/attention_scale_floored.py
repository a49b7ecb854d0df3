# /// bank
# about = "divided by int(sqrt(d_head))"
# facts = "own"
# extends = "reference"
# names = ["scale_rounded"]
# [loses]
# "attention.formula" = "partial"
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
        scores = (q @ k.mT / int(math.sqrt(d // self.H))).masked_fill(self.mask[:T, :T] == 0, -math.inf)
        y = scores.softmax(-1) @ v
        return self.proj(y.transpose(1, 2).reshape(B, T, d))
