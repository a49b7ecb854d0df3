# /// bank
# about = "per head one fused Linear in and one Linear out, summed, bias once; MLP inlined in Block"
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
    """Per head: one fused Linear in, one Linear out; the bias is added once."""

    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.ins = nn.ModuleList([nn.Linear(d, 3 * d // H, bias=False) for _ in range(H)])
        self.outs = nn.ModuleList([nn.Linear(d // H, d, bias=False) for _ in range(H)])
        self.bias = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        T = x.shape[1]
        keep = torch.tril(torch.ones(T, T, device=x.device)).bool()
        total = self.bias
        for f_in, f_out in zip(self.ins, self.outs):
            q, k, v = f_in(x).chunk(3, dim=2)
            w = (q @ k.transpose(1, 2) / q.shape[2] ** 0.5).masked_fill(~keep, float("-inf"))
            total = total + f_out(w.softmax(dim=2) @ v)
        return total


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        return self.net(x)


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attention = MultiHeadAttention(d, H, T_max)
        # the MLP again, in place
        self.net = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.net(self.norm2(x))


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
                for weight in [*[o.weight for o in block.attention.outs], block.net[2].weight]:
                    weight /= math.sqrt(2 * L)

    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"sequence of {T} tokens, but T_max is {self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        loss = F.cross_entropy(logits.reshape(B * T, -1), targets.reshape(B * T))
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])[:, -1, :]
            idx = torch.cat([idx, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)], dim=1)
        return idx


@torch.no_grad()
def shape_table(model, idx):
    x = model.tok_emb(idx) + model.pos_emb(torch.arange(idx.shape[1], device=idx.device))
    table = [("embeddings", tuple(x.shape))]
    for i, block in enumerate(model.blocks):
        x = block(x)
        table.append((f"block {i + 1}", tuple(x.shape)))
    x = model.ln_f(x)
    table.append(("final LayerNorm", tuple(x.shape)))
    table.append(("logits", tuple(model.lm_head(x).shape)))
    return table
