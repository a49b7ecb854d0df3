# /// bank
# about = "fused Linear with chunks v, k, q and torch.baddbmm on an additive mask; module function generate; inverse CDF"
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


class LN(nn.LayerNorm):
    def __init__(self, d):
        super().__init__(d, eps=1e-6)
        self.d = d


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H = H
        self.vkq = nn.Linear(d, 3 * d, bias=False)
        self.out = nn.Linear(d, d)
        self.register_buffer("neg", torch.triu(torch.full((T_max, T_max), -1e9), diagonal=1))

    def forward(self, x):
        B, T, d = x.shape
        H, e = self.H, d // self.H
        v, k, q = (t.view(B, T, H, e).transpose(1, 2).reshape(B * H, T, e) for t in self.vkq(x).split(d, -1))
        scores = torch.baddbmm(self.neg[:T, :T].expand(B * H, T, T).to(q.dtype), q, k.transpose(1, 2), alpha=e ** -0.5)
        y = torch.bmm(torch.softmax(scores, -1), v)
        return self.out(y.view(B, H, T, e).transpose(1, 2).reshape(B, T, d))


def gelu(x):
    # GPT-2's approximation
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w1, self.w2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        return self.w2(gelu(self.w1(x)))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1 = LN(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.ln2 = LN(d)
        self.mlp = MLP(d)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return x


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L, *, std=0.02):
        super().__init__()
        assert min(V, T_max, d, H, L) > 0, "all sizes must be positive"
        self.sizes = {"V": V, "T_max": T_max, "d": d, "H": H, "L": L}
        self.unembedding = nn.Parameter(std * torch.randn(d, V))
        self.final_norm = LN(d)
        self.stack = nn.ModuleList()
        for _ in range(L):
            block = Block(d, H, T_max)
            self.stack.append(block)
        self.table_of_positions = nn.Embedding(T_max, d)
        self.table_of_tokens = nn.Embedding(V, d)
        self.register_buffer("steps", torch.arange(T_max)[None], persistent=False)
        for block in self.stack:
            for w in [block.attn.out.weight, block.mlp.w2.weight]:
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
