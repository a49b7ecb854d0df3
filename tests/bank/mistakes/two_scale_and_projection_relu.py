# /// bank
# about = "two mistakes in one class: scores divided by sqrt(d), and a ReLU after the projection"
# facts = "M01, M20"
# extends = "reference"
# names = ["scale_sqrt_d", "projection_relu"]
# [loses]
# "attention.formula" = "failed"
# ///


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.heads = nn.ModuleList([Head(d, d // H, T_max) for _ in range(H)])
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        out = torch.cat([h(x) for h in self.heads], dim=-1)
        return F.relu(self.proj(out))


#: file head.py
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
        scores = q @ k.transpose(-2, -1) * C**-0.5
        scores = scores.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        weights = F.softmax(scores, dim=-1)
        return weights @ v
