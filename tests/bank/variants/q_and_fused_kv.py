# /// bank
# about = "one Linear for the queries, one Linear(d, 2d) for keys and values; SDPA with a float mask"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import math
import torch
from torch import nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H = H
        self.to_q = nn.Linear(d, d, bias=False)
        self.to_kv = nn.Linear(d, 2 * d, bias=False)
        self.to_out = nn.Linear(d, d)

    def forward(self, x):
        b, n, d = x.shape
        k, v = self.to_kv(x).chunk(2, dim=-1)
        q, k, v = (t.reshape(b, n, self.H, d // self.H).permute(0, 2, 1, 3) for t in (self.to_q(x), k, v))
        mask = torch.triu(torch.full((n, n), -torch.inf, dtype=x.dtype, device=x.device), 1)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.to_out(out.permute(0, 2, 1, 3).reshape(b, n, d))


class MLP(nn.Module):
    def __init__(self, d, mult=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, mult * d), nn.GELU(), nn.Dropout(0.0), nn.Linear(mult * d, d), nn.Dropout(0.0))

    def forward(self, x):
        return self.net(x)


class PreNorm(nn.Module):
    def __init__(self, d, fn):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.fn = fn

    def forward(self, x):
        return self.fn(self.norm(x))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.attn = PreNorm(d, MultiHeadAttention(d, H, T_max))
        self.ff = PreNorm(d, MLP(d))

    def forward(self, x):
        x = self.attn(x) + x
        x = self.ff(x) + x
        return x


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.max_seq_len = T_max
        self.token_emb = nn.Embedding(V, d)
        self.pos_emb = nn.Parameter(torch.zeros(1, T_max, d))
        self.layers = nn.ModuleList([])
        for _ in range(L):
            self.layers.append(Block(d, H, T_max))
        self.to_logits = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, V, bias=False))
        for layer in self.layers:
            layer.attn.fn.to_out.weight.data.mul_(1 / math.sqrt(2 * L))
            layer.ff.fn.net[3].weight.data.mul_(1 / math.sqrt(2 * L))

    def forward(self, idx, targets=None):
        n = idx.shape[-1]
        assert n <= self.max_seq_len, f"sequence {n} longer than {self.max_seq_len}"
        x = self.token_emb(idx) + self.pos_emb[:, :n]
        for layer in self.layers:
            x = layer(x)
        logits = self.to_logits(x)
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.permute(0, 2, 1), targets)

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        out = idx
        for _ in range(max_new_tokens):
            logits = self(out[:, -self.max_seq_len:])[:, -1]
            cdf = logits.softmax(-1).cumsum(-1)
            u = torch.rand(len(cdf), 1, device=cdf.device) * cdf[:, -1:]
            sample = torch.searchsorted(cdf, u, right=True).clamp(max=cdf.shape[-1] - 1)
            out = torch.cat((out, sample), dim=-1)
        return out


def shape_table(model, idx):
    x = model.token_emb(idx) + model.pos_emb[:, :idx.shape[1]]
    t = [("embeddings", tuple(x.shape))]
    for i, layer in enumerate(model.layers, 1):
        x = layer(x); t.append((f"block {i}", tuple(x.shape)))
    x = model.to_logits[0](x); t.append(("final LayerNorm", tuple(x.shape)))
    x = model.to_logits[1](x); t.append(("logits", tuple(x.shape)))
    return t
