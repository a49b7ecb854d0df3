# /// bank
# about = "tokens and places in one nn.Embedding(V + T_max, d)"
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


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head, block_size, attn_pdrop=0.0):
        super().__init__()
        assert n_embd % n_head == 0
        self.key = nn.Linear(n_embd, n_embd, bias=False)
        self.query = nn.Linear(n_embd, n_embd, bias=False)
        self.value = nn.Linear(n_embd, n_embd, bias=False)
        self.attn_drop = nn.Dropout(attn_pdrop)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.register_buffer("mask", torch.tril(torch.ones(block_size, block_size)).view(1, 1, block_size, block_size))
        self.n_head = n_head

    def forward(self, x, layer_past=None):
        B, T, C = x.size()
        k = self.key(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = self.query(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = self.value(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        att = self.attn_drop(F.softmax(att, dim=-1))
        return self.c_proj((att @ v).transpose(1, 2).contiguous().view(B, T, C))


class MultiHeadAttention(CausalSelfAttention):
    def __init__(self, d, H, T_max):
        super().__init__(n_embd=d, n_head=H, block_size=T_max)


class MLP(nn.Module):
    def __init__(self, d, expansion=4):
        super().__init__()
        self.up = nn.Linear(d, expansion * d)
        self.down = nn.Linear(expansion * d, d)

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
        self.emb = nn.Embedding(V + T_max, d)  # the first V rows are tokens, the others places
        self.V = V
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, V, bias=False)
        for block in self.blocks:
            for w in [block.attn.c_proj.weight, block.mlp.down.weight]:
                w.data.mul_(1 / math.sqrt(2 * L))

    def embed(self, idx):
        return self.emb(idx) + self.emb(self.V + torch.arange(idx.shape[1], device=idx.device))

    def forward(self, idx, targets=None):
        assert idx.shape[1] <= self.T_max, f"{idx.shape[1]} > {self.T_max}"
        x = self.embed(idx)
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            idx = torch.cat([idx, self(idx[:, -self.T_max:])[:, -1].softmax(-1).multinomial(1)], 1)
        return idx


def shape_table(model, idx):
    x = model.embed(idx)
    table = [("embeddings", tuple(x.shape))]
    for i, block in enumerate(model.blocks, 1):
        x = block(x)
        table.append((f"block {i}", tuple(x.shape)))
    table.append(("final LayerNorm", tuple(model.norm(x).shape)))
    table.append(("logits", tuple(model.head(model.norm(x)).shape)))
    return table
