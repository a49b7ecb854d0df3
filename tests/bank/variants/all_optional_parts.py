# /// bank
# about = "all three optional parts, in another way than the reference: tying by F.linear, matmul, bmm"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from head import Head


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.heads = nn.ModuleList(Head(d, d // H, T_max) for _ in range(H))
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        return self.proj(torch.cat([h(x) for h in self.heads], dim=-1))


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
        self.ln1, self.attn = nn.LayerNorm(d), MultiHeadAttention(d, H, T_max)
        self.ln2, self.mlp = nn.LayerNorm(d), MLP(d)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return x


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__()
        self.T_max = T_max
        self.tok_emb = nn.Embedding(V, d)
        self.pos_emb = nn.Embedding(T_max, d)
        self.blocks = nn.ModuleList(Block(d, H, T_max) for _ in range(L))
        self.ln_f = nn.LayerNorm(d)
        if tie_weights:
            self.lm_head = None
            self.tok_emb.weight.data.mul_(0.02)
            self.pos_emb.weight.data.mul_(0.02)
        else:
            self.lm_head = nn.Linear(d, V, bias=False)
        for block in self.blocks:
            block.attn.proj.weight.data.mul_(1 / math.sqrt(2 * L))
            block.mlp.down.weight.data.mul_(1 / math.sqrt(2 * L))

    def unembed(self, x):
        if self.lm_head is None:
            return F.linear(x, self.tok_emb.weight)
        return self.lm_head(x)

    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"{T} tokens, T_max is {self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.unembed(self.ln_f(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.view(B * T, -1), targets.reshape(B * T))

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])[:, -1]
            idx = torch.cat([idx, torch.multinomial(logits.softmax(-1), 1)], dim=1)
        return idx


def shape_table(model, idx):
    x = model.tok_emb(idx) + model.pos_emb(torch.arange(idx.shape[1], device=idx.device))
    table = [("embeddings", tuple(x.shape))]
    for i, block in enumerate(model.blocks, start=1):
        x = block(x)
        table.append((f"block {i}", tuple(x.shape)))
    x = model.ln_f(x)
    table.append(("final LayerNorm", tuple(x.shape)))
    table.append(("logits", tuple(model.unembed(x).shape)))
    return table


class BatchedMultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.d_head = d // H
        self.query = nn.Linear(d, d, bias=False)
        self.key = nn.Linear(d, d, bias=False)
        self.value = nn.Linear(d, d, bias=False)
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        B, T, d = x.shape
        q, k, v = (
            torch.stack(f(x).split(self.d_head, dim=-1), dim=1) for f in (self.query, self.key, self.value)
        )  # (B, H, T, d_head)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(torch.cat(y.unbind(dim=1), dim=-1))


def qk_ov(mha):
    d = mha.proj.in_features
    H = len(mha.heads)
    W_Q = torch.stack([h.query.weight.T for h in mha.heads])  # (H, d, d_head)
    W_K = torch.stack([h.key.weight.T for h in mha.heads])
    W_V = torch.stack([h.value.weight.T for h in mha.heads])
    W_O = mha.proj.weight.T.reshape(H, d // H, d)              # (H, d_head, d)
    return list(zip(torch.bmm(W_Q, W_K.mT), torch.bmm(W_V, W_O)))
