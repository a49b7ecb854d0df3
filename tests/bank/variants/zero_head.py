# /// bank
# about = "zero-initialised unembedding (first loss exactly ln 65), (logits, None), buffers with persistent=False"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H = H
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.out = nn.Linear(d, d)
        self.register_buffer("blocked", torch.ones(T_max, T_max, dtype=torch.bool).triu(1), persistent=False)

    def forward(self, x):
        B, T, d = x.shape
        q, k, v = self.qkv(x).reshape(B, T, 3, self.H, d // self.H).permute(2, 0, 3, 1, 4)  # each (B, H, T, d_head)
        scores = q @ k.mT / math.sqrt(d // self.H)
        scores = torch.where(self.blocked[:T, :T], torch.finfo(scores.dtype).min, scores)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, d))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.layers = nn.ModuleDict({"in": nn.Linear(d, 4 * d), "out": nn.Linear(4 * d, d)})

    def forward(self, x):
        return self.layers["out"](F.gelu(self.layers["in"](x)))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.sub = nn.ModuleDict({
            "norm1": nn.LayerNorm(d, eps=1e-6),
            "attention": MultiHeadAttention(d, H, T_max),
            "norm2": nn.LayerNorm(d, eps=1e-6),
            "mlp": MLP(d),
        })

    def forward(self, x):
        x = self.sub["attention"](self.sub["norm1"](x)) + x
        x = self.sub["mlp"](self.sub["norm2"](x)) + x
        return x


class GPT(nn.Module):
    def __init__(self, V=65, T_max=64, d=128, H=4, L=4):
        super().__init__()
        self.T_max = T_max
        self.tok = nn.Embedding(V, d)
        self.pos = nn.Embedding(T_max, d)
        for i in range(L):
            setattr(self, f"block{i}", Block(d, H, T_max))
        self.L = L
        self.norm = nn.LayerNorm(d, eps=1e-6)
        self.head = nn.Linear(d, V, bias=False)

        nn.init.zeros_(self.head.weight)
        self.register_buffer("positions", torch.arange(T_max), persistent=False)
        for block in self.blocks():
            block.sub["attention"].out.weight.data /= math.sqrt(2 * L)
            block.sub["mlp"].layers["out"].weight.data /= math.sqrt(2 * L)

    def blocks(self):
        return [getattr(self, f"block{i}") for i in range(self.L)]

    def forward(self, idx, targets=None):
        T = idx.shape[1]
        assert T <= self.T_max, f"{T} tokens are more than T_max = {self.T_max}"
        x = self.tok(idx) + self.pos(self.positions[:T])
        for block in self.blocks():
            x = block(x)
        logits = self.head(self.norm(x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.flatten(end_dim=1), targets.flatten())

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits, _ = self(idx[:, -self.T_max:])
            p = F.softmax(logits[:, -1], dim=-1)
            idx = torch.cat([idx, torch.multinomial(p, 1)], dim=1)
        return idx


def shape_table(model, idx):
    x = model.tok(idx) + model.pos(model.positions[:idx.shape[1]])
    rows = [("embeddings", list(x.shape))]
    for i, block in enumerate(model.blocks(), start=1):
        x = block(x)
        rows.append((f"block {i}", list(x.shape)))
    x = model.norm(x)
    rows.append(("final LayerNorm", list(x.shape)))
    rows.append(("logits", list(model.head(x).shape)))
    return rows
