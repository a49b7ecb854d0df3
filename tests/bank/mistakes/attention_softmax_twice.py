# /// bank
# about = "the weights go through a second softmax"
# facts = "own"
# extends = "reference"
# names = ["softmax_twice"]
# [loses]
# "attention.formula" = "partial"
# "attention.causal" = "failed"
# "causality.full_model" = "failed"
# ///


#: file head.py
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
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        weights = self.attention_weights(scores.masked_fill(self.tril[:T, :T] == 0, float("-inf")))
        return F.softmax(weights, dim=-1) @ v

    def attention_weights(self, scores):
        return F.softmax(scores, dim=-1)
