# /// bank
# about = "triu instead of tril: each token sees only itself and what follows"
# facts = "M12"
# extends = "reference"
# names = ["mask_anti_causal"]
# [loses]
# "attention.formula" = "partial"
# "attention.causal" = "failed"
# "causality.full_model" = "failed"
# "causality.full_context" = "failed"
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
        self.register_buffer("mask", torch.triu(torch.ones(T_max, T_max)))

    def forward(self, x):
        T = x.shape[1]
        scores = self.query(x) @ self.key(x).transpose(-2, -1) / self.query.out_features ** 0.5
        scores = scores.masked_fill(self.mask[:T, :T] == 0, float("-inf"))
        return F.softmax(scores, dim=-1) @ self.value(x)
