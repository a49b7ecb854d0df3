# /// bank
# about = "the correct solution that the public_ files derive from"
# ///

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0, f"d={d} is no multiple of H={H}"
        self.H = H
        self.dh = d // H
        self.wq = nn.Linear(d, d, bias=False)
        self.wk = nn.Linear(d, d, bias=False)
        self.wv = nn.Linear(d, d, bias=False)
        self.proj = nn.Linear(d, d)
        self.register_buffer("tril", torch.tril(torch.ones(T_max, T_max)))

    def forward(self, x):
        B, T, d = x.shape
        q = self.wq(x).view(B, T, self.H, self.dh).transpose(1, 2)
        k = self.wk(x).view(B, T, self.H, self.dh).transpose(1, 2)
        v = self.wv(x).view(B, T, self.H, self.dh).transpose(1, 2)
        att = q @ k.transpose(-2, -1) / math.sqrt(self.dh)
        att = att.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, d)
        return self.proj(y)


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
                block.attn.proj.weight.mul_((2 * L) ** -0.5)
                block.mlp.down.weight.mul_((2 * L) ** -0.5)

    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"got T={T}, but T_max={self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        loss = F.cross_entropy(logits.view(B * T, -1), targets.reshape(B * T))
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])
            probs = F.softmax(logits[:, -1, :], dim=-1)
            nxt = torch.multinomial(probs, 1)
            idx = torch.cat((idx, nxt), dim=1)
        return idx


@torch.no_grad()
def shape_table(model, idx):
    rows = []
    x = model.tok_emb(idx) + model.pos_emb(torch.arange(idx.shape[1]))
    rows.append(("embeddings", tuple(x.shape)))
    for i, block in enumerate(model.blocks):
        x = block(x)
        rows.append((f"block {i + 1}", tuple(x.shape)))
    x = model.ln_f(x)
    rows.append(("final LayerNorm", tuple(x.shape)))
    rows.append(("logits", tuple(model.lm_head(x).shape)))
    return rows


#: file head.py
"""One head of causal self-attention: the previous step's result, given complete.

The other files use these letters for sizes, always with the same meaning:

    B       sequences in a batch               d       width of the model: numbers per token
    T       tokens in a sequence (<= T_max)    d_head  width of one head
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


class Head(nn.Module):
    """Turn x of shape (B, T, d) into a tensor of shape (B, T, d_head).

    Each token's output is a weighted average of the values of that token and of the tokens before it, never of later
    ones. T can be any number from 1 to T_max.
    """

    def __init__(self, d, d_head, T_max):
        super().__init__()
        self.query = nn.Linear(d, d_head, bias=False)
        self.key = nn.Linear(d, d_head, bias=False)
        self.value = nn.Linear(d, d_head, bias=False)
        # True where row t (who looks) may see column s (who is seen): s <= t. A buffer moves with the model to another
        # device, but it is no parameter: it is neither trained nor counted.
        mask = torch.tril(torch.ones(T_max, T_max, dtype=torch.bool))  # (T_max, T_max)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x):
        T = x.shape[1]
        q = self.query(x)  # (B, T, d_head)
        k = self.key(x)  # (B, T, d_head)
        v = self.value(x)  # (B, T, d_head)
        # A dot product of d_head terms grows like sqrt(d_head); dividing by that keeps the softmax from saturating.
        scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])  # (B, T, T)
        scores = scores.masked_fill(~self.mask[:T, :T], float("-inf"))  # (B, T, T)
        weights = F.softmax(scores, dim=-1)  # (B, T, T), each row sums to 1
        return weights @ v  # (B, T, d_head)
