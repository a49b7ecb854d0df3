# /// bank
# about = "q (out, in), k (in, out) and v (H, d, d_head), concatenated in forward"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import math

import torch
from torch import nn
from torch.nn import functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.d, self.H = d, H
        r = d ** -0.5
        self.Q = nn.Parameter(torch.empty(d, d).uniform_(-r, r))           # out, in
        self.K = nn.Parameter(torch.empty(d, d).uniform_(-r, r))           # in, out
        self.V = nn.Parameter(torch.empty(H, d, d // H).uniform_(-r, r))   # head, in, out
        self.O = nn.Parameter(torch.empty(d, d).uniform_(-r, r))           # in, out
        self.b = nn.Parameter(torch.empty(d).uniform_(-r, r))

    def fused(self):
        return torch.cat([self.Q, self.K.t(), self.V.transpose(1, 2).reshape(self.d, self.d)], dim=0)

    def forward(self, x):
        B, T, d = x.shape
        qkv = F.linear(x, self.fused()).view(B, T, 3, self.H, d // self.H)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        w = q.matmul(k.transpose(-1, -2)).mul(1 / math.sqrt(q.size(-1)))
        causal = torch.ones_like(w, dtype=torch.bool).tril()
        w = w.masked_fill(~causal, -torch.inf).softmax(-1)
        return (w @ v).transpose(1, 2).reshape(B, T, d) @ self.O + self.b


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))


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
        self.register_buffer("pos_ids", torch.arange(T_max).unsqueeze(0), persistent=False)
        self.tok_emb = nn.Embedding(V, d)
        self.pos_emb = nn.Embedding(T_max, d)
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        with torch.no_grad():
            for blk in self.blocks:
                blk.attn.O.mul_(1 / math.sqrt(2 * L))
                blk.mlp.down.weight.mul_(1 / math.sqrt(2 * L))

    @property
    def T_max(self):
        return self.pos_emb.num_embeddings

    def forward(self, idx, targets=None):
        _, T = idx.shape
        assert T <= self.T_max, f"sequence of length {T} does not fit into T_max = {self.T_max}"
        h = self.tok_emb(idx) + self.pos_emb(self.pos_ids[:, :T])
        for blk in self.blocks:
            h = blk(h)
        logits = self.lm_head(self.ln_f(h))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits, _ = self(idx[:, -self.T_max:])
            idx = torch.cat([idx, torch.multinomial(F.softmax(logits[:, -1], -1), 1)], dim=-1)
        return idx


@torch.no_grad()
def shape_table(model, idx):
    h = model.tok_emb(idx) + model.pos_emb(model.pos_ids[:, :idx.size(1)])
    table = [("embeddings", tuple(h.shape))]
    for n, blk in enumerate(model.blocks, 1):
        h = blk(h)
        table.append((f"block {n}", tuple(h.shape)))
    h = model.ln_f(h)
    table.append(("final LayerNorm", tuple(h.shape)))
    table.append(("logits", tuple(model.lm_head(h).shape)))
    return table
