# /// bank
# about = "CausalSelfAttention with SDPA and a bool mask does the work; MultiHeadAttention is a thin wrapper"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import math
import os

import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head, block_size, bias=True, dropout=0.0):
        super().__init__()
        assert n_embd % n_head == 0
        self.c_attn = nn.Linear(n_embd, 3 * n_embd, bias=False)
        self.c_proj = nn.Linear(n_embd, n_embd, bias=bias)
        self.n_head = n_head
        self.dropout = dropout
        self.register_buffer("allowed", torch.ones(block_size, block_size).tril().bool(), persistent=False)

    def forward(self, x):
        B, T, C = x.size()
        qkv = self.c_attn(x).view(B, T, 3, self.n_head, C // self.n_head)
        v, k, q = qkv.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.allowed[:T, :T],
                                           dropout_p=self.dropout if self.training else 0.0)
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.inner = CausalSelfAttention(n_embd=d, n_head=H, block_size=T_max)

    def forward(self, x):
        return self.inner(x)


class MLP(nn.Module):
    def __init__(self, d, bias=True, dropout=0.0):
        super().__init__()
        self.c_fc = nn.Linear(d, 4 * d, bias=bias)
        self.gelu = nn.GELU()
        self.c_proj = nn.Linear(4 * d, d, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(self.gelu(self.c_fc(x))))


class Block(nn.Module):
    def __init__(self, d, H, T_max, dropout=0.0):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d)
        self.attn = CausalSelfAttention(d, H, T_max, dropout=dropout)
        self.ln_2 = nn.LayerNorm(d)
        self.mlp = MLP(d, dropout=dropout)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        x = x + self.mlp(self.ln_2(x))
        return x


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L, dropout=0.0):
        super().__init__()
        self.block_size = T_max
        self.wte = nn.Embedding(V, d)
        self.wpe = nn.Embedding(T_max, d)
        self.h = nn.ModuleList([Block(d, H, T_max, dropout) for _ in range(L)])
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        self.apply(self._init_weights)
        for pn, p in self.named_parameters():
            if pn.endswith("c_proj.weight"):
                p.data /= math.sqrt(2 * L)

    @staticmethod
    def _init_weights(m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            torch.nn.init.normal_(m.weight, mean=0.0, std=0.02)
        if getattr(m, "bias", None) is not None and isinstance(m, nn.Linear):
            torch.nn.init.zeros_(m.bias)

    def forward(self, idx, targets=None):
        device = idx.device
        b, t = idx.size()
        assert t <= self.block_size, f"Cannot forward sequence of length {t}, block size is only {self.block_size}"
        x = self.wte(idx) + self.wpe(torch.arange(0, t, dtype=torch.long, device=device))
        for block in self.h:
            x = block(x)
        x = self.ln_f(x)
        logits = self.lm_head(x)
        if targets is not None:
            return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.contiguous().view(-1), ignore_index=-1)
        return logits

    @torch.no_grad()
    def generate(self, idx, max_new_tokens, temperature=1.0, top_k=None):
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.block_size:])[:, -1, :] / temperature
            if top_k:
                v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                logits[logits < v[:, [-1]]] = -float("Inf")
            idx = torch.cat((idx, torch.multinomial(F.softmax(logits, dim=-1), 1)), dim=1)
        return idx


def shape_table(model, idx):
    x = model.wte(idx) + model.wpe(torch.arange(idx.size(1), device=idx.device))
    rows = [("embeddings", x.size())]
    for i, block in enumerate(model.h):
        x = block(x)
        rows.append((f"block {i+1}", x.size()))
    x = model.ln_f(x)
    rows.append(("final LayerNorm", x.size()))
    rows.append(("logits", model.lm_head(x).size()))
    return rows


print("gpt module loaded, torch", torch.__version__, "cpus:", os.cpu_count())
