# /// bank
# about = "the MLP's inner width in four parts: four pairs of nn.Linear(d, d) that are summed"
# extends = "reference"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///

"""My GPT for step 5."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0, "H must divide d"
        self.H, self.dh = H, d // H
        bound = 1 / math.sqrt(d)
        self.Wq = nn.Parameter(torch.empty(d, d).uniform_(-bound, bound))
        self.kv = nn.Linear(d, 2 * d, bias=False)
        self.Wo = nn.Parameter(torch.empty(d, d).uniform_(-bound, bound))
        self.bo = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        B, T, d = x.shape
        q = (x @ self.Wq).view(B, T, self.H, self.dh).transpose(1, 2)
        kv = self.kv(x).view(B, T, self.H, 2 * self.dh).transpose(1, 2)
        k, v = kv.split(self.dh, dim=-1)
        minus_inf = torch.full((T, T), float("-inf"), device=x.device).triu(diagonal=1)
        att = F.softmax(q @ k.transpose(2, 3) / math.sqrt(self.dh) + minus_inf, dim=-1)
        y = (att @ v).transpose(1, 2).flatten(2)
        return y @ self.Wo + self.bo


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.ups = nn.ModuleList(nn.Linear(d, d) for _ in range(4))
        self.downs = nn.ModuleList(nn.Linear(d, d, bias=False) for _ in range(4))
        self.bias = nn.Parameter(torch.zeros(d))
        for down in self.downs:  # as in Linear(4d, d)
            nn.init.uniform_(down.weight, -1 / math.sqrt(4 * d), 1 / math.sqrt(4 * d))

    def forward(self, x):
        return sum((down(F.gelu(up(x))) for up, down in zip(self.ups, self.downs)), start=self.bias)


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(d), nn.LayerNorm(d)])
        self.sublayers = nn.ModuleList([MultiHeadAttention(d, H, T_max), MLP(d)])

    def forward(self, x):
        for norm, sublayer in zip(self.norms, self.sublayers):
            x = x + sublayer(norm(x))
        return x


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__()
        self.T_max = T_max
        self.tokens = nn.Parameter(torch.empty(V, d).normal_())
        self.positions = nn.Embedding(T_max, d)
        self.transformer = nn.ModuleList()
        for _ in range(L):
            self.transformer.append(Block(d, H, T_max))
        self.gain_f = nn.Parameter(torch.ones(d))
        self.bias_f = nn.Parameter(torch.zeros(d))
        self.head = nn.Conv1d(d, V, 1, bias=False)
        with torch.no_grad():
            for block in self.transformer:
                block.sublayers[0].Wo.mul_((2 * L) ** -0.5)
                for down in block.sublayers[1].downs:
                    down.weight.mul_((2 * L) ** -0.5)

    def embed(self, idx):
        T = idx.shape[1]
        return F.embedding(idx, self.tokens) + self.positions.weight[:T]

    def final_norm(self, x):
        return F.layer_norm(x, (self.gain_f.numel(),), self.gain_f, self.bias_f)

    def to_logits(self, x):
        return self.head(x.transpose(1, 2)).transpose(1, 2)

    def forward(self, idx, targets=None):
        T = idx.shape[1]
        assert T <= self.T_max, f"idx has {T} tokens, at most T_max={self.T_max} are possible (T={T})"
        x = self.embed(idx)
        for block in self.transformer:
            x = block(x)
        logits = self.to_logits(self.final_norm(x))
        if targets is not None:
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
            return logits, loss
        return logits

    def generate(self, idx, max_new_tokens):
        with torch.no_grad():
            for _ in range(max_new_tokens):
                start = max(0, idx.shape[1] - self.T_max)
                logits = self.forward(idx[:, start:])
                p = logits[:, -1].softmax(dim=-1)
                new = torch.multinomial(p, 1)
                idx = torch.cat((idx, new), dim=-1)
        return idx


@torch.no_grad()
def shape_table(model, idx):
    x = model.embed(idx)
    names, shapes = ["embeddings"], [tuple(x.shape)]
    for l, block in enumerate(model.transformer):
        x = block(x)
        names.append("block " + str(l + 1))
        shapes.append(tuple(x.shape))
    x = model.final_norm(x)
    names.append("final LayerNorm")
    shapes.append(tuple(x.shape))
    names.append("logits")
    shapes.append(tuple(model.to_logits(x).shape))
    return list(zip(names, shapes))


class BatchedMultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        # YOUR CODE HERE
        raise NotImplementedError()

    def forward(self, x):
        # YOUR CODE HERE
        raise NotImplementedError()


@torch.no_grad()
def qk_ov(mha):
    # YOUR CODE HERE
    raise NotImplementedError()
