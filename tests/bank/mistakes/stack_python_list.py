# /// bank
# about = "the blocks are in a Python list: they compute, but are no parameters of the model"
# facts = "M51"
# also = ["blocks_not_registered"]
# [loses]
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# "initial_loss.residual_scaling" = "failed"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import torch
import torch.nn as nn
import torch.nn.functional as F
from head import Head


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.heads = nn.ModuleList(Head(d, d // H, T_max) for _ in range(H))
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        return self.proj(torch.cat([h(x) for h in self.heads], dim=-1))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc1 = nn.Linear(d, 4 * d)
        self.fc2 = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1, self.attn = nn.LayerNorm(d), MultiHeadAttention(d, H, T_max)
        self.ln2, self.mlp = nn.LayerNorm(d), MLP(d)

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
        self.blocks = []
        for i in range(L):
            self.blocks.append(Block(d, H, T_max))
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        for b in self.blocks:
            b.attn.proj.weight.data *= (2 * L) ** -0.5
            b.mlp.fc2.weight.data *= (2 * L) ** -0.5

    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"{T} tokens, but at most {self.T_max} fit"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
        for b in self.blocks:
            x = b(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.view(B * T, -1), targets.reshape(B * T))

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])
            probs = F.softmax(logits[:, -1], dim=-1)
            idx = torch.cat([idx, torch.multinomial(probs, 1)], dim=1)
        return idx


def shape_table(model, idx):
    rows = []
    x = model.tok_emb(idx) + model.pos_emb(torch.arange(idx.shape[1]))
    rows.append(("embeddings", tuple(x.shape)))
    for i, b in enumerate(model.blocks):
        x = b(x)
        rows.append((f"block {i + 1}", tuple(x.shape)))
    x = model.ln_f(x)
    rows.append(("final LayerNorm", tuple(x.shape)))
    x = model.lm_head(x)
    rows.append(("logits", tuple(x.shape)))
    return rows
