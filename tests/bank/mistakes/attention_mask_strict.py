# /// bank
# about = "strict mask: a token does not see itself, so the first row is all -inf and everything becomes NaN"
# facts = "M11"
# extends = "reference"
# names = ["mask_excludes_self"]
# [loses]
# "attention.shape" = "failed"
# "attention.formula" = "failed"
# "attention.heads" = "failed"
# "attention.rows_sum_to_one" = "failed"
# "attention.causal" = "failed"
# "causality.full_model" = "failed"
# "causality.full_context" = "failed"
# "causality.batch_independence" = "failed"
# "causality.rows_sum_to_one" = "failed"
# [bonus]
# "bonus.qk_ov" = "failed"
# ///
#: file head.py
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, d, d_head, T_max):
        super().__init__()
        self.key = nn.Linear(d, d_head, bias=False)
        self.query = nn.Linear(d, d_head, bias=False)
        self.value = nn.Linear(d, d_head, bias=False)
        self.scale = d_head ** -0.5
        self.register_buffer("past", torch.ones(T_max, T_max).tril(-1).bool())

    def forward(self, x):
        T = x.shape[1]
        scores = self.query(x) @ self.key(x).transpose(1, 2) * self.scale
        scores = scores.masked_fill(~self.past[:T, :T], -torch.inf)
        return scores.softmax(dim=-1) @ self.value(x)
