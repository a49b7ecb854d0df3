# /// bank
# about = "both MLP matrices in one Parameter (2, d, 4d), the second one used transposed"
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
        assert d % H == 0, f"{d} / {H}"
        self.heads, self.d_head = H, d // H
        self.qkv = nn.Linear(d, d * 3, bias=False)
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        B, T, _ = x.shape
        # (B, T, H, d_head, 3): the three roles are innermost
        q, k, v = self.qkv(x).reshape(B, T, self.heads, self.d_head, 3).unbind(-1)
        scores = torch.einsum("bqhe,bkhe->bhqk", q, k) / math.sqrt(self.d_head)
        i = torch.arange(T, device=x.device)
        scores = scores.masked_fill(i[:, None] < i[None, :], float("-inf"))
        out = torch.einsum("bhqk,bkhe->bqhe", F.softmax(scores, dim=3), v)
        return self.proj(out.flatten(2))


class MLP(nn.Module):
    """Both matrices as (d, 4d) in one tensor: the second one is used transposed."""

    def __init__(self, d):
        super().__init__()
        self.w = nn.Parameter(torch.randn(2, d, 4 * d) * 0.02)
        self.b_in = nn.Parameter(torch.zeros(4 * d))
        self.b_out = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        return F.gelu(x @ self.w[0] + self.b_in) @ self.w[1].T + self.b_out


class Block(nn.Module):
    def __init__(self, d, H, T_max, *, dropout=0.0):
        super().__init__()
        self.ffn = MLP(d=d)
        self.mha = MultiHeadAttention(d=d, H=H, T_max=T_max)
        self.norm_ffn = nn.LayerNorm(d)
        self.norm_mha = nn.LayerNorm(d)
        self.drop1, self.drop2 = nn.Dropout(dropout), nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.drop1(self.mha(self.norm_mha(x)))
        return x + self.drop2(self.ffn(self.norm_ffn(x)))


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L, *, std=0.02):
        super().__init__()
        assert min(V, T_max, d, H, L) > 0, "all sizes must be positive"
        self.sizes = {"V": V, "T_max": T_max, "d": d, "H": H, "L": L}
        self.unembedding = nn.Parameter(std * torch.randn(d, V))
        self.final_norm = nn.LayerNorm(d)
        self.stack = nn.ModuleList()
        for _ in range(L):
            block = Block(d, H, T_max)
            self.stack.append(block)
        self.table_of_positions = nn.Embedding(T_max, d)
        self.table_of_tokens = nn.Embedding(V, d)
        self.register_buffer("steps", torch.arange(T_max)[None], persistent=False)
        for block in self.stack:
            for w in [block.mha.proj.weight, block.ffn.w[1]]:
                nn.init.normal_(w, mean=0.0, std=std / math.sqrt(2 * L))

    def trunk(self, idx):
        x = self.table_of_tokens(idx) + self.table_of_positions(self.steps[:, : idx.shape[1]])
        seen = [x]
        for block in self.stack:
            seen.append(block(seen[-1]))
        seen.append(self.final_norm(seen[-1]))
        seen.append(seen[-1] @ self.unembedding)
        return seen

    def forward(self, idx, targets=None):
        T, T_max = idx.shape[-1], self.sizes["T_max"]
        assert T <= T_max, f"T={T} T_max={T_max}"
        logits = self.trunk(idx)[-1]
        return logits if targets is None else (logits, loss_of(logits, targets))


def loss_of(logits, targets):
    return F.cross_entropy(logits.contiguous().view(-1, logits.size(-1)), targets.contiguous().view(-1))


def sample(logits):
    """One token per row, by inverting the cumulative distribution."""
    cumulative = torch.cumsum(torch.softmax(logits, dim=-1), dim=-1)
    u = torch.rand(logits.shape[0], 1, device=logits.device, dtype=logits.dtype)
    return (u > cumulative).sum(dim=-1, keepdim=True).clamp(max=logits.shape[-1] - 1)


@torch.no_grad()
def generate(model, idx, max_new_tokens):
    for _ in range(max_new_tokens):
        context = idx[:, -model.sizes["T_max"]:]
        idx = torch.hstack([idx, sample(model(context)[:, -1])])
    return idx


@torch.no_grad()
def shape_table(model, idx):
    names = ["embeddings", *(f"block {l}" for l in range(1, model.sizes["L"] + 1)), "final LayerNorm", "logits"]
    return list(zip(names, (tuple(t.shape) for t in model.trunk(idx))))
