# /// bank
# about = "the MLP's inner width in four parts: up (4, d, d), down (d, 4, d), biases in parts"
# extends = "variants/public_base"
# [bonus]
# "bonus.weight_tying" = "failed"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///

"""Assemble the GPT: multi-head attention, the MLP, the block and the full model."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from head import Head


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0, "d % H != 0"
        r = d**-0.5
        self.q = nn.Parameter(torch.rand(d // H, H, d) * 2 * r - r)
        self.k = nn.Parameter(torch.rand(H, d // H, d) * 2 * r - r)
        self.v = nn.Linear(d, d, bias=False)
        self.o = nn.Linear(d, d)

    def forward(self, x):
        B, T, d = x.shape
        q = torch.tensordot(x, self.q, dims=([2], [2])).permute(0, 3, 1, 2)  # (B, T, e, H) -> (B, H, T, e)
        k = torch.tensordot(x, self.k, dims=([2], [2])).permute(0, 2, 3, 1)  # (B, T, H, e) -> (B, H, e, T)
        v = self.v(x).view(B, T, *self.k.shape[:2]).transpose(1, 2)
        s = q @ k / math.sqrt(self.q.shape[0])
        s = s + torch.full((T, T), float("-inf"), device=x.device, dtype=x.dtype).triu(1)
        y = s.softmax(-1) @ v
        return self.o(y.permute(0, 2, 3, 1).reshape(B, T, d))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Parameter(torch.empty(4, d, d).uniform_(-1 / math.sqrt(d), 1 / math.sqrt(d)))
        self.up_b = nn.Parameter(torch.zeros(4, d))
        self.down = nn.Parameter(torch.empty(d, 4, d).uniform_(-0.5 / math.sqrt(d), 0.5 / math.sqrt(d)))
        self.down_b = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        h = F.gelu(torch.einsum("btd,nde->btne", x, self.up) + self.up_b)  # (B, T, 4, d)
        return torch.einsum("btne,enf->btf", h, self.down) + self.down_b


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(d), nn.LayerNorm(d)])
        self.sublayers = nn.ModuleList([MultiHeadAttention(d, H, T_max), MLP(d)])

    def forward(self, x):
        for norm, sublayer in zip(self.norms, self.sublayers):
            x = x + sublayer(norm(x))
        return x


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__()
        assert not tie_weights, "not implemented"
        self.T_max = T_max
        self.unembed = nn.Parameter(torch.randn(V, d) * 0.02)
        self.blocks = nn.Sequential(*[Block(d, H, T_max) for _ in range(L)])
        self.V = V
        self.table = nn.Parameter(torch.randn(V + T_max, d))  # tokens, then positions
        self.gain_f = nn.Parameter(torch.ones(d))
        self.bias_f = nn.Parameter(torch.zeros(d))
        with torch.no_grad():
            for block in self.blocks:
                block.sublayers[0].o.weight.mul_(1 / math.sqrt(2 * L))
                block.sublayers[1].down.mul_(1 / math.sqrt(2 * L))

    def forward(self, idx, targets=None):
        T = idx.shape[1]
        assert T <= self.T_max, f"T={T} exceeds T_max={self.T_max}"
        x = self.table[idx] + self.table[self.V : self.V + T]
        for block in self.blocks:
            x = block(x)
        x = F.layer_norm(x, (self.gain_f.numel(),), self.gain_f, self.bias_f)
        logits = F.linear(x, self.unembed)
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.flatten())

    def generate(self, idx, max_new_tokens):
        with torch.no_grad():
            for _ in range(max_new_tokens):
                start = max(0, idx.shape[1] - self.T_max)
                logits = self.forward(idx[:, start:])
                p = logits[:, -1].softmax(dim=-1)
                new = torch.multinomial(p, 1)
                idx = torch.cat((idx, new), dim=-1)
        return idx


@torch.no_grad()
def shape_table(model, idx):
    T = idx.shape[1]
    x = model.table[idx] + model.table[model.V : model.V + T]
    table = [("embeddings", tuple(x.shape))]
    for number, block in enumerate(model.blocks, start=1):
        x = block(x)
        table.append((f"block {number}", tuple(x.shape)))
    x = F.layer_norm(x, (model.gain_f.numel(),), model.gain_f, model.bias_f)
    table.append(("final LayerNorm", tuple(x.shape)))
    x = F.linear(x, model.unembed)
    table.append(("logits", tuple(x.shape)))
    return table
