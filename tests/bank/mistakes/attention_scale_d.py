# /// bank
# about = "scores divided by d, the whole width"
# facts = "own"
# extends = "reference"
# names = ["scale_d"]
# [loses]
# "attention.formula" = "partial"
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
        B, T, d = x.shape
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = torch.bmm(q, k.mT) / d
        scores = scores.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return torch.bmm(F.softmax(scores, dim=-1), v)
