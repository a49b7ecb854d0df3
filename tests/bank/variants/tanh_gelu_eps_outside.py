# /// bank
# about = "the tanh form of GELU, as GPT-2 has it; own LayerNorm with eps 1e-6 added to the standard deviation"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import math

import torch
import torch.nn as nn
from torch.nn import functional as F

from head import Head


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3))))


class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(d))
        self.beta = nn.Parameter(torch.zeros(d))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True, unbiased=False)
        return self.gamma * (x - mean) / (std + self.eps) + self.beta


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.heads = nn.ModuleList(Head(d, d // H, T_max) for _ in range(H))
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        return self.proj(torch.cat([h(x) for h in self.heads], dim=-1))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1, self.attn = LayerNorm(d), MultiHeadAttention(d, H, T_max)
        self.ln2, self.mlp = LayerNorm(d), MLP(d)

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
        self.blocks = nn.ModuleList(Block(d, H, T_max) for _ in range(L))
        self.ln_f = LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
        nn.init.normal_(self.pos_emb.weight, std=0.01)
        for block in self.blocks:
            for linear in (block.attn.proj, block.mlp.down):
                nn.init.normal_(linear.weight, std=0.02 * (2 * L) ** -0.5)

    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"{T} > {self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        loss = None if targets is None else F.cross_entropy(logits.view(B * T, -1), targets.reshape(B * T))
        return logits, loss

    def generate(self, idx, max_new_tokens):
        with torch.no_grad():
            for _ in range(max_new_tokens):
                logits, _ = self(idx[:, -self.T_max:])
                probs = F.softmax(logits[:, -1, :], dim=-1)
                idx = torch.cat([idx, torch.multinomial(probs, num_samples=1)], dim=1)
        return idx


def shape_table(model, idx):
    x = model.tok_emb(idx) + model.pos_emb(torch.arange(idx.size(1)))
    table = [("embeddings", tuple(x.shape))]
    for i, block in enumerate(model.blocks, 1):
        x = block(x)
        table.append((f"block {i}", tuple(x.shape)))
    x = model.ln_f(x)
    table.append(("final LayerNorm", tuple(x.shape)))
    table.append(("logits", tuple(model.lm_head(x).shape)))
    return table
