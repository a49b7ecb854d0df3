# /// bank
# about = "every weight an nn.Parameter, per-head 3-d tensors, einsum everywhere, own normal initialisation"
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
from torch import einsum

STD = 0.02


def weight(*shape):
    return nn.Parameter(torch.randn(*shape) * STD)


def zeros(*shape):
    return nn.Parameter(torch.zeros(*shape))


class LayerNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Parameter(torch.ones(d))
        self.b = zeros(d)

    def forward(self, x):
        return F.layer_norm(x, self.w.shape, self.w, self.b)


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        d_head = d // H
        self.W_Q = weight(H, d, d_head)
        self.W_K = weight(H, d, d_head)
        self.W_V = weight(H, d, d_head)
        self.W_O = weight(H, d_head, d)
        self.b_O = zeros(d)

    def forward(self, x):
        T = x.shape[1]
        q = einsum("btd,hde->bhte", x, self.W_Q)
        k = einsum("btd,hde->bhte", x, self.W_K)
        v = einsum("btd,hde->bhte", x, self.W_V)
        scores = einsum("bhqe,bhke->bhqk", q, k) / math.sqrt(self.W_Q.shape[-1])
        future = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)
        pattern = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
        z = einsum("bhqk,bhke->bhqe", pattern, v)
        return einsum("bhqe,hed->bqd", z, self.W_O) + self.b_O


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.W_in, self.b_in = weight(d, 4 * d), zeros(4 * d)
        self.W_out, self.b_out = weight(4 * d, d), zeros(d)

    def forward(self, x):
        hidden = F.gelu(einsum("btd,dm->btm", x, self.W_in) + self.b_in)
        return einsum("btm,md->btd", hidden, self.W_out) + self.b_out


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1, self.attn = LayerNorm(d), MultiHeadAttention(d, H, T_max)
        self.ln2, self.mlp = LayerNorm(d), MLP(d)

    def forward(self, resid_pre):
        resid_mid = resid_pre + self.attn(self.ln1(resid_pre))
        resid_post = resid_mid + self.mlp(self.ln2(resid_mid))
        return resid_post


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.W_E = weight(V, d)
        self.W_pos = weight(T_max, d)
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.ln_final = LayerNorm(d)
        self.W_U = weight(d, V)
        with torch.no_grad():
            for block in self.blocks:
                block.attn.W_O.mul_(1 / math.sqrt(2 * L))
                block.mlp.W_out.mul_(1 / math.sqrt(2 * L))

    def stages(self, idx):
        """Yields the name and the value of each stage."""
        x = self.W_E[idx] + self.W_pos[:idx.shape[1]]
        yield "embeddings", x
        for i, block in enumerate(self.blocks):
            x = block(x)
            yield f"block {i}", x
        x = self.ln_final(x)
        yield "final LayerNorm", x
        yield "logits", einsum("btd,dv->btv", x, self.W_U)

    def forward(self, idx, targets=None):
        *_, (_, logits) = self.stages(idx)
        if targets is None:
            return logits
        V = logits.shape[-1]
        return logits, F.cross_entropy(logits.reshape(-1, V), targets.reshape(-1))

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        T_max = self.W_pos.shape[0]
        for _ in range(max_new_tokens):
            logits = self.forward(idx[:, -T_max:])
            p = logits[:, -1].softmax(dim=-1)
            idx = torch.cat([idx, torch.multinomial(p, 1)], dim=-1)
        return idx


def shape_table(model, idx):
    return [(name, tuple(x.shape)) for name, x in model.stages(idx)]
