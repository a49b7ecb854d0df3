# /// bank
# about = "two mistakes: scores divided by sqrt(d), and generate does not crop"
# facts = "M01, M74"
# extends = "reference"
# names = ["scale_sqrt_d"]
# also = ["generate_without_crop"]
# [loses]
# "attention.formula" = "partial"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# ///


class GPT(GPT):
    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            probs = F.softmax(self(idx)[:, -1, :], dim=-1)
            idx = torch.cat([idx, torch.multinomial(probs, num_samples=1)], dim=1)
        return idx


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
