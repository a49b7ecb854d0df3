# /// bank
# about = "all linear maps inside the blocks are nn.Conv1d with kernel 1"
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
    """Linear maps as 1x1 convolutions over the sequence."""

    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H = H
        self.qkv = nn.Conv1d(d, 3 * d, kernel_size=1, bias=False)
        self.proj = nn.Conv1d(d, d, kernel_size=1)

    def forward(self, x):
        B, T, d = x.shape
        q, k, v = self.qkv(x.transpose(1, 2)).view(B, 3, self.H, d // self.H, T).unbind(1)  # (B, H, d_head, T)
        s = q.transpose(-2, -1) @ k / math.sqrt(d // self.H)
        s = s.masked_fill(torch.ones_like(s, dtype=torch.bool).triu(1), float("-inf"))
        y = v @ s.softmax(-1).transpose(-2, -1)
        return self.proj(y.reshape(B, d, T)).transpose(1, 2)


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.c1 = nn.Conv1d(d, 4 * d, 1)
        self.c2 = nn.Conv1d(4 * d, d, 1)

    def forward(self, x):
        return self.c2(F.gelu(self.c1(x.transpose(1, 2)))).transpose(1, 2)


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1 = nn.LayerNorm(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.ln2 = nn.LayerNorm(d)
        self.mlp = MLP(d)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return x


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        self.tok_emb = nn.Embedding(V, d)
        self.pos_emb = nn.Embedding(T_max, d)
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        with torch.no_grad():
            for block in self.blocks:
                for weight in [block.attn.proj.weight, block.mlp.c2.weight]:
                    weight /= math.sqrt(2 * L)

    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"sequence of {T} tokens, but T_max is {self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        loss = F.cross_entropy(logits.reshape(B * T, -1), targets.reshape(B * T))
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])[:, -1, :]
            idx = torch.cat([idx, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)], dim=1)
        return idx


@torch.no_grad()
def shape_table(model, idx):
    x = model.tok_emb(idx) + model.pos_emb(torch.arange(idx.shape[1], device=idx.device))
    table = [("embeddings", tuple(x.shape))]
    for i, block in enumerate(model.blocks):
        x = block(x)
        table.append((f"block {i + 1}", tuple(x.shape)))
    x = model.ln_f(x)
    table.append(("final LayerNorm", tuple(x.shape)))
    table.append(("logits", tuple(model.lm_head(x).shape)))
    return table
