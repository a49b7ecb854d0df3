# /// bank
# about = "own LayerNorm that divides by the squared variance"
# facts = "own"
# extends = "reference"
# names = ["norm_divides_by_squared_variance"]
# [loses]
# "block.composition" = "partial"
# "causality.full_context" = "failed"
# ///

import torch
import torch.nn as nn


class LayerNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.gain, self.bias = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

    def forward(self, x):
        variance = x.var(-1, keepdim=True, unbiased=False)
        return self.gain * (x - x.mean(-1, keepdim=True)) / (variance + 1e-5) ** 2 + self.bias


class Block(Block):
    def __init__(self, d, H, T_max):
        super().__init__(d, H, T_max)
        self.ln1, self.ln2 = LayerNorm(d), LayerNorm(d)
