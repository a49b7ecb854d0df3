# /// bank
# about = "no softmax: scores of later positions are 0, and the others are the weights"
# facts = "own"
# extends = "reference"
# names = ["softmax_missing"]
# [loses]
# "attention.formula" = "partial"
# "attention.rows_sum_to_one" = "failed"
# "causality.rows_sum_to_one" = "failed"
# ///


#: file head.py
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
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        scores = scores * self.tril[:T, :T]
        return scores @ v
