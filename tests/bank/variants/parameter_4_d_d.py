# /// bank
# about = "Q, K, V and O as the four slices of one Parameter (4, d, d)"
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
        assert d % H == 0
        self.H = H
        self.W = nn.Parameter(torch.randn(4, d, d) * d ** -0.5)  # Q, K, V and O
        self.b = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        B, T, d = x.shape
        W_Q, W_K, W_V, W_O = self.W
        q, k, v = ((x @ w).view(B, T, self.H, d // self.H).transpose(1, 2) for w in (W_Q, W_K, W_V))
        z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return z.transpose(1, 2).reshape(B, T, d) @ W_O + self.b


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        return self.net(x)


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
        self.tok_emb = nn.Embedding(V, d)
        self.pos_emb = nn.Embedding(T_max, d)
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        with torch.no_grad():
            for block in self.blocks:
                for weight in [block.attn.W[3], block.mlp.net[2].weight]:
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
