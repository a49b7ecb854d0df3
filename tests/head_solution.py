"""The solution of tests/head_assignment. It is outside that package, which platforms receive as a whole."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class Head(nn.Module):
    """Turn x of shape (B, T, d) into a tensor of shape (B, T, d_head).

    Each position attends only to itself and to earlier positions. T can be any number from 1 to T_max.
    """

    def __init__(self, d, d_head, T_max):
        super().__init__()
        self.query = nn.Linear(d, d_head, bias=False)
        self.key = nn.Linear(d, d_head, bias=False)
        self.value = nn.Linear(d, d_head, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(T_max, T_max, dtype=torch.bool)))  # True: attends

    def forward(self, x):
        T = x.shape[1]
        q, k, v = self.query(x), self.key(x), self.value(x)  # (B, T, d_head) each
        scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])  # (B, T, T)
        scores = scores.masked_fill(~self.mask[:T, :T], float("-inf"))
        return F.softmax(scores, dim=-1) @ v  # (B, T, d_head)
