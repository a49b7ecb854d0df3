# /// bank
# about = "masked scores become 0 instead of -inf (scores times the 0/1 mask), in a Head of the student's own"
# facts = "M08, M09"
# extends = "reference"
# names = ["mask_zero"]
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
        att = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        att = att * self.tril[:T, :T]  # no looking ahead
        att = F.softmax(att, dim=-1)
        return att @ v
