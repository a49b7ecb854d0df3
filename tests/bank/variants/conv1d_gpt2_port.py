# /// bank
# about = "GPT-2's Conv1D class, weights (in, out); where with a -1e4 buffer; forward returns a namedtuple"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import math
from collections import namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F

Output = namedtuple("Output", ["logits", "loss"])


class Conv1D(nn.Module):
    """As in OpenAI's GPT-2: a linear layer whose weight is transposed."""

    def __init__(self, nf, nx, bias=True):
        super().__init__()
        self.nf = nf
        self.weight = nn.Parameter(torch.empty(nx, nf))
        nn.init.normal_(self.weight, std=0.02)
        self.bias = nn.Parameter(torch.zeros(nf)) if bias else None

    def forward(self, x):
        size_out = x.size()[:-1] + (self.nf,)
        x = x.reshape(-1, x.size(-1))
        x = x @ self.weight if self.bias is None else torch.addmm(self.bias, x, self.weight)
        return x.view(size_out)


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.register_buffer("bias", torch.tril(torch.ones((T_max, T_max), dtype=torch.bool)).view(1, 1, T_max, T_max), persistent=False)
        self.register_buffer("masked_bias", torch.tensor(-1e4), persistent=False)
        self.embed_dim, self.num_heads, self.head_dim = d, H, d // H
        self.c_attn = Conv1D(3 * d, d, bias=False)
        self.c_proj = Conv1D(d, d)

    def _split_heads(self, t):
        return t.view(t.size(0), t.size(1), self.num_heads, self.head_dim).permute(0, 2, 1, 3)

    def forward(self, x):
        query, key, value = map(self._split_heads, self.c_attn(x).split(self.embed_dim, dim=2))
        w = torch.matmul(query, key.transpose(-1, -2)) / (self.head_dim ** 0.5)
        T = x.size(1)
        w = torch.where(self.bias[:, :, :T, :T], w, self.masked_bias.to(w.dtype))
        w = nn.Softmax(dim=-1)(w)
        a = torch.matmul(w, value).permute(0, 2, 1, 3).contiguous()
        return self.c_proj(a.view(*a.size()[:-2], self.embed_dim))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.c_fc = Conv1D(4 * d, d)
        self.c_proj = Conv1D(d, 4 * d)
        self.act = nn.GELU()

    def forward(self, x):
        return self.c_proj(self.act(self.c_fc(x)))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d, eps=1e-5)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.ln_2 = nn.LayerNorm(d, eps=1e-5)
        self.mlp = MLP(d)

    def forward(self, x):
        residual = x
        x = self.attn(self.ln_1(x)) + residual
        residual = x
        return residual + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.n_positions = T_max
        self.wte = nn.Embedding(V, d)
        self.wpe = nn.Embedding(T_max, d)
        self.h = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.ln_f = nn.LayerNorm(d, eps=1e-5)
        self.lm_head = nn.Linear(d, V, bias=False)
        for emb in (self.wte, self.wpe, self.lm_head):
            emb.weight.data.normal_(std=0.02)
        # Reinitialise: scale by 1/sqrt(N), N = number of residual layers
        for name, p in self.named_parameters():
            if "c_proj" in name and "weight" in name:
                p.data.normal_(mean=0.0, std=0.02 / math.sqrt(2 * L))

    def embed(self, idx):
        return self.wte(idx) + self.wpe(torch.arange(idx.size(-1), device=idx.device).unsqueeze(0))

    def forward(self, idx, targets=None):
        assert idx.size(-1) <= self.n_positions, f"{idx.size(-1)} vs n_positions {self.n_positions}"
        x = self.embed(idx)
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))
        return Output(logits=logits, loss=loss)

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            probs = F.softmax(self(idx[:, -self.n_positions:]).logits[:, -1, :], dim=-1)
            idx = torch.cat([idx, torch.multinomial(probs, 1)], dim=-1)
        return idx


def shape_table(model, idx):
    x = model.embed(idx)
    out = [("embeddings", tuple(x.shape))]
    for n, b in enumerate(model.h):
        x = b(x)
        out.append((f"block {n + 1}", tuple(x.shape)))
    out.append(("final LayerNorm", tuple(model.ln_f(x).shape)))
    out.append(("logits", tuple(model.lm_head(model.ln_f(x)).shape)))
    return out
