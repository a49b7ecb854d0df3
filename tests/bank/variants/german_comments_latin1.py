# -*- coding: latin-1 -*-
# /// bank
# about = "latin-1 with a coding line, comments and a message in German"
# facts = "3b"
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
    # H Köpfe nebeneinander, dann eine lineare Abbildung darüber
    def __init__(self, d, H, T_max):
        super().__init__()
        self.heads = nn.ModuleList([Head(d, d // H, T_max) for _ in range(H)])  # jeder Kopf hat die Breite d // H
        self.proj = nn.Linear(d, d)  # mischt die Köpfe

    def forward(self, x):
        # längs der letzten Achse aneinanderfügen
        return self.proj(torch.cat([head(x) for head in self.heads], dim=-1))


class MLP(nn.Module):
    # wirkt auf jede Position für sich; Zwischenschicht 4d
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    # erst normalisieren, dann rechnen, dann zurückschreiben
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
    # das ganze Modell
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        self.tok_emb = nn.Embedding(V, d)
        self.pos_emb = nn.Embedding(T_max, d)
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        # 2L Schreibvorgänge: Varianzen addieren sich, daher die Wurzel
        for block in self.blocks:
            block.attn.proj.weight.data /= (2 * L) ** 0.5
            block.mlp.down.weight.data /= (2 * L) ** 0.5

    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"Folge zu lang für das Modell: {T} > {self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        loss = F.cross_entropy(logits.view(B * T, -1), targets.reshape(B * T))
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        # das Modell überblickt höchstens T_max Zeichen
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])
            probs = F.softmax(logits[:, -1, :], dim=-1)
            new = torch.multinomial(probs, num_samples=1)
            idx = torch.cat([idx, new], dim=1)
        return idx


def shape_table(model, idx):
    table = []
    x = model.tok_emb(idx) + model.pos_emb(torch.arange(idx.shape[1]))
    table.append(("embeddings", tuple(x.shape)))
    for i, block in enumerate(model.blocks):
        x = block(x)
        table.append((f"block {i + 1}", tuple(x.shape)))
    x = model.ln_f(x)
    table.append(("final LayerNorm", tuple(x.shape)))
    x = model.lm_head(x)
    table.append(("logits", tuple(x.shape)))
    return table
