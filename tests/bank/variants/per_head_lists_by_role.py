# /// bank
# about = "three ModuleLists of Linears, one for each role, and a ModuleList of output slices with one bias"
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
        self.num_heads = H
        self.d_head = d // H
        self.W_q = nn.ModuleList([nn.Linear(d, self.d_head, bias=False) for _ in range(H)])
        self.W_k = nn.ModuleList([nn.Linear(d, self.d_head, bias=False) for _ in range(H)])
        self.W_v = nn.ModuleList([nn.Linear(d, self.d_head, bias=False) for _ in range(H)])
        # concat + W_O is the same as every head having its own W_O and summing the results
        self.W_o = nn.ModuleList([nn.Linear(self.d_head, d, bias=False) for _ in range(H)])
        self.b_o = nn.Parameter(torch.zeros(d))
        self.softmax = nn.Softmax(dim=-1)
        self.register_buffer("mask", torch.full((T_max, T_max), float("-inf")).triu(1), persistent=False)

    def forward(self, x):
        T = x.shape[1]
        out = 0
        for h in range(self.num_heads):
            q, k, v = self.W_q[h](x), self.W_k[h](x), self.W_v[h](x)
            att = self.softmax(q @ k.transpose(-1, -2) / math.sqrt(self.d_head) + self.mask[:T, :T])
            out = out + self.W_o[h](att @ v)
        return out + self.b_o


class MLP(nn.Module):
    def __init__(self, d, dropout=0.0):
        super().__init__()
        self.fc1 = nn.Linear(d, 4 * d)
        self.fc2 = nn.Linear(4 * d, d)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        return self.drop(self.fc2(F.gelu(self.fc1(x))))


class Block(nn.Module):
    def __init__(self, d, H, T_max, dropout=0.0):
        super().__init__()
        self.attn_norm = nn.LayerNorm(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.attn_drop = nn.Dropout(dropout)
        self.mlp_norm = nn.LayerNorm(d)
        self.mlp = MLP(d, dropout)

    def forward(self, x):
        x = x + self.attn_drop(self.attn(self.attn_norm(x)))
        x = x + self.mlp(self.mlp_norm(x))
        return x


class GPT(nn.Module):
    def __init__(self, V=65, T_max=64, d=128, H=4, L=4, dropout=0.0):
        super().__init__()
        self.T_max = T_max
        self.token = nn.Embedding(V, d)
        self.pos = nn.Embedding(T_max, d)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList([Block(d, H, T_max, dropout) for _ in range(L)])
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, V, bias=False)
        scale = (2 * L) ** -0.5
        with torch.no_grad():
            for block in self.blocks:
                for W in block.attn.W_o:
                    W.weight *= scale
                block.mlp.fc2.weight *= scale

    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"{T} tokens but T_max = {self.T_max}"
        x = self.drop(self.token(idx) + self.pos(torch.arange(T, device=idx.device)))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        loss = None if targets is None else nn.CrossEntropyLoss()(logits.view(B * T, -1), targets.view(B * T))
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        was_training = self.training
        self.eval()
        for _ in range(max_new_tokens):
            logits, _ = self(idx[:, -self.T_max:])
            probs = F.softmax(logits[:, -1, :], dim=-1)
            idx = torch.cat([idx, torch.multinomial(probs, 1)], dim=1)
        self.train(was_training)
        return idx


def shape_table(model, idx):
    table = {}
    x = model.token(idx) + model.pos(torch.arange(idx.shape[1], device=idx.device))
    table["embeddings"] = tuple(x.shape)
    for i, block in enumerate(model.blocks):
        x = block(x)
        table[f"block {i + 1}"] = tuple(x.shape)
    x = model.norm(x)
    table["final LayerNorm"] = tuple(x.shape)
    table["logits"] = tuple(model.head(x).shape)
    return list(table.items())
