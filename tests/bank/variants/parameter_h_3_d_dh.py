# /// bank
# about = "one Parameter (H, 3, d, d_head), iterated over"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
from __future__ import annotations

import math
from typing import Optional

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class LN(nn.LayerNorm):
    def __init__(self, d):
        super().__init__(d, eps=1e-6)
        self.d = d


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.qkv = nn.Parameter(torch.randn(H, 3, d, d // H) * d ** -0.5)
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        T = x.shape[1]
        bias = x.new_full((T, T), float("-inf")).triu(1)
        heads = []
        for W_q, W_k, W_v in self.qkv:  # over the H heads
            s = (x @ W_q) @ (x @ W_k).transpose(1, 2) / math.sqrt(W_q.shape[1])
            heads.append((s + bias).softmax(-1) @ (x @ W_v))
        return self.proj(torch.cat(heads, -1))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.l = nn.ModuleDict({"fc_out": nn.Linear(4 * d, d), "fc_in": nn.Linear(d, 4 * d), "act": nn.GELU()})

    def forward(self, x):
        for name in ("fc_in", "act", "fc_out"):
            x = self.l[name](x)
        return x


class Block(nn.Module):
    def __init__(self, d, H, T_max, *, dropout=0.0):
        super().__init__()
        self.ffn = MLP(d=d)
        self.mha = MultiHeadAttention(d=d, H=H, T_max=T_max)
        self.norm_ffn = LN(d)
        self.norm_mha = LN(d)
        self.drop1, self.drop2 = nn.Dropout(dropout), nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.drop1(self.mha(self.norm_mha(x)))
        return x + self.drop2(self.ffn(self.norm_ffn(x)))


Tokens = Tensor
Logits = Tensor


class GPT(nn.Module):
    def __init__(self, V: int, T_max: int, d: int, H: int, L: int):
        super().__init__()
        self.T_max: int = T_max
        self.depth: int = L
        self.W_E = nn.Embedding(V, d)
        self.W_P = nn.Embedding(T_max, d)
        self.layers = nn.ModuleList(Block(d, H, T_max) for _ in range(L))
        self.ln = LN(d)
        self.W_U = nn.Linear(d, V, bias=False)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        nn.init.normal_(self.W_E.weight, std=0.02)
        nn.init.normal_(self.W_P.weight, std=0.02)
        nn.init.normal_(self.W_U.weight, std=0.02)
        for block in self.layers:
            for w in (block.mha.proj.weight, block.ffn.l["fc_out"].weight,):
                w.mul_((2 * self.depth) ** -0.5)

    def resid(self, idx: "Int[Tokens, 'B T']") -> "Float[Tensor, 'B T d']":
        B, T = idx.shape
        pos: "Int[Tensor, 'T']" = torch.arange(T, device=idx.device)
        return self.W_E(idx) + self.W_P(pos).expand(B, T, -1)

    def forward(self, idx: "Int[Tokens, 'B T']", targets: "Optional[Int[Tokens, 'B T']]" = None) -> "Float[Logits, 'B T V']":
        T = idx.shape[1]
        assert idx.ndim == 2, f"expected (B, T), got {tuple(idx.shape)}"
        assert 1 <= T <= self.T_max, f"T = {T} is outside 1 to T_max = {self.T_max}"
        x = self.resid(idx)
        for layer in self.layers:
            y = layer(x)
            assert y.shape == x.shape, "a block must keep the shape"
            x = y
        logits = self.W_U(self.ln(x))
        if targets is None:
            return logits
        assert targets.shape == idx.shape
        log_probs = logits - logits.logsumexp(dim=-1, keepdim=True)
        loss = -torch.take_along_dim(log_probs, targets[..., None], dim=-1).mean()
        return logits, loss

    @torch.inference_mode()
    def generate(self, idx: "Int[Tokens, 'B T']", max_new_tokens: int, *, temperature: float = 1.0) -> "Int[Tokens, 'B S']":
        out = idx.new_empty((idx.shape[0], idx.shape[1] + max_new_tokens))
        out[:, : idx.shape[1]] = idx
        for end in range(idx.shape[1], out.shape[1]):
            logits = self(out[:, max(0, end - self.T_max) : end])[:, -1]
            out[:, end] = torch.multinomial((logits / temperature).softmax(-1), 1)[:, 0]
        return out


def shape_table(model: GPT, idx: "Int[Tokens, 'B T']") -> "list[tuple[str, tuple[int, ...]]]":
    x = model.resid(idx)
    table = [("embeddings", tuple(x.shape))]
    for l, layer in enumerate(model.layers, 1):
        x = layer(x)
        table.append((f"block {l}", tuple(x.shape)))
    x = model.ln(x)
    table.append(("final LayerNorm", tuple(x.shape)))
    table.append(("logits", tuple(model.W_U(x).shape)))
    return table
