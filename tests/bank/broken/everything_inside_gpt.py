# /// bank
# about = "a right model with attention, MLP and blocks written out inside GPT: the three classes do not exist"
# [loses]
# "attention.shape" = "not_implemented"
# "attention.formula" = "not_implemented"
# "attention.heads" = "not_implemented"
# "attention.rows_sum_to_one" = "not_implemented"
# "attention.causal" = "not_implemented"
# "mlp.formula" = "not_implemented"
# "mlp.width" = "not_implemented"
# "mlp.position_wise" = "not_implemented"
# "block.composition" = "not_implemented"
# "block.residual_path" = "not_implemented"
# "parameters.by_part" = "blocked"
# ///
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.V, self.T_max, self.d, self.H, self.L = V, T_max, d, H, L
        self.tok_emb = nn.Embedding(V, d)
        self.pos_emb = nn.Embedding(T_max, d)
        self.ln1 = nn.ModuleList(nn.LayerNorm(d) for _ in range(L))
        self.qkv = nn.ModuleList(nn.Linear(d, 3 * d, bias=False) for _ in range(L))
        self.proj = nn.ModuleList(nn.Linear(d, d) for _ in range(L))
        self.ln2 = nn.ModuleList(nn.LayerNorm(d) for _ in range(L))
        self.up = nn.ModuleList(nn.Linear(d, 4 * d) for _ in range(L))
        self.down = nn.ModuleList(nn.Linear(4 * d, d) for _ in range(L))
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        for linear in [*self.proj, *self.down]:
            linear.weight.data /= math.sqrt(2 * L)

    def layer(self, x, i):
        B, T, d = x.shape
        q, k, v = self.qkv[i](self.ln1[i](x)).view(B, T, 3, self.H, d // self.H).permute(2, 0, 3, 1, 4)
        a = q @ k.transpose(-2, -1) / math.sqrt(d // self.H)
        a = a.masked_fill(torch.ones(T, T, device=x.device).tril() == 0, float("-inf")).softmax(-1)
        x = x + self.proj[i]((a @ v).transpose(1, 2).reshape(B, T, d))
        return x + self.down[i](F.gelu(self.up[i](self.ln2[i](x))))

    def forward(self, idx, targets=None):
        T = idx.shape[1]
        assert T <= self.T_max, (T, self.T_max)
        x = self.tok_emb(idx) + self.pos_emb.weight[:T]
        for i in range(self.L):
            x = self.layer(x, i)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.view(-1, self.V), targets.reshape(-1))

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])[:, -1]
            idx = torch.cat([idx, torch.multinomial(logits.softmax(-1), 1)], dim=1)
        return idx


def shape_table(model, idx):
    x = model.tok_emb(idx) + model.pos_emb.weight[:idx.shape[1]]
    table = [("embeddings", tuple(x.shape))]
    for i in range(model.L):
        x = model.layer(x, i)
        table.append((f"block {i + 1}", tuple(x.shape)))
    x = model.ln_f(x)
    table.append(("final LayerNorm", tuple(x.shape)))
    table.append(("logits", tuple(model.lm_head(x).shape)))
    return table
