# /// bank
# about = "the classes come from a module of the student's own, handed in beside gpt.py"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import torch
import torch.nn as nn
import torch.nn.functional as F

from layers import Block, MLP, MultiHeadAttention, scale_residual_projections

__all__ = ["MultiHeadAttention", "MLP", "Block", "GPT", "shape_table"]


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        self.tok_emb = nn.Embedding(V, d)
        self.pos_emb = nn.Embedding(T_max, d)
        self.blocks = nn.ModuleList(Block(d, H, T_max) for _ in range(L))
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        scale_residual_projections(self.blocks)

    def forward(self, idx, targets=None):
        T = idx.shape[1]
        assert T <= self.T_max, f"T={T}, T_max={self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])
            idx = torch.cat([idx, torch.multinomial(F.softmax(logits[:, -1], dim=-1), 1)], dim=1)
        return idx


def shape_table(model, idx):
    x = model.tok_emb(idx) + model.pos_emb(torch.arange(idx.shape[1], device=idx.device))
    table = [("embeddings", tuple(x.shape))]
    for n, block in enumerate(model.blocks, start=1):
        x = block(x)
        table.append((f"block {n}", tuple(x.shape)))
    x = model.ln_f(x)
    table.append(("final LayerNorm", tuple(x.shape)))
    x = model.lm_head(x)
    table.append(("logits", tuple(x.shape)))
    return table


#: file layers.py
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from head import Head


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.heads = nn.ModuleList(Head(d, d // H, T_max) for _ in range(H))
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        return self.proj(torch.cat([head(x) for head in self.heads], dim=-1))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1 = nn.LayerNorm(d)
        self.ln2 = nn.LayerNorm(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.mlp = MLP(d)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return x


@torch.no_grad()
def scale_residual_projections(blocks):
    for block in blocks:
        block.attn.proj.weight.div_(math.sqrt(2 * len(blocks)))
        block.mlp.down.weight.div_(math.sqrt(2 * len(blocks)))
