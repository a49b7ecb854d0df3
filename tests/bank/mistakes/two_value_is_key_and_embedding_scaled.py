# /// bank
# about = "two mistakes: values made with the key's matrix, token embeddings times sqrt(d)"
# facts = "M21, M61"
# extends = "reference"
# names = ["value_is_key", "embedding_scaled"]
# [loses]
# "attention.formula" = "partial"
# "model.composition" = "partial"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"T={T} is larger than T_max={self.T_max}"
        x = self.tok_emb(idx) * math.sqrt(self.tok_emb.embedding_dim) + self.pos_emb(torch.arange(T, device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())


#: file head.py
import math

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
        q, k, v = self.query(x), self.key(x), self.key(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(k.shape[-1])
        scores = scores.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        weights = F.softmax(scores, dim=-1)
        return weights @ v
