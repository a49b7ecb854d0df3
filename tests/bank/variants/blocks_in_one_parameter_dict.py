# /// bank
# about = "static functions over a dict of weights; GPT owns one ParameterDict in which all blocks are stacked"
# facts = "own"
# ///
import math

import torch
from torch import nn
from torch.nn import functional as F


def make_attention(d, H):
    s = d**-0.5
    e = d // H
    u = lambda *shape: torch.empty(*shape).uniform_(-s, s)
    return {"wq": u(d, H, e), "wk": u(e, H, d), "wv": u(H, e, d), "wo": u(H, d, e), "bo": torch.zeros(d)}


def make_mlp(d):
    up, down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
    return {
        "up": up.weight.detach().clone(),  # (4d, d)
        "bup": up.bias.detach().clone(),
        "down": down.weight.detach().T.clone(),  # (4d, d)
        "bdown": down.bias.detach().clone(),
    }


def run_attention(w, x):
    T = x.shape[1]
    q = torch.einsum("btd,dhe->bhte", x, w["wq"])
    k = torch.einsum("btd,ehd->bhte", x, w["wk"])
    v = torch.einsum("btd,hed->bhte", x, w["wv"])
    s = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
    s = s.masked_fill(~torch.ones(T, T, dtype=torch.bool, device=x.device).tril(), float("-inf"))
    return torch.einsum("bhts,bhse,hde->btd", s.softmax(-1), v, w["wo"]) + w["bo"]


def run_mlp(w, x):
    return F.gelu(F.linear(x, w["up"], w["bup"])) @ w["down"] + w["bdown"]


def run_block(w, x):
    size = x.shape[-1:]
    g1, b1, g2, b2 = w["norms"]
    x = x + run_attention(w, F.layer_norm(x, size, g1, b1))
    return x + run_mlp(w, F.layer_norm(x, size, g2, b2))


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0, "d is not a multiple of H"
        self.w = nn.ParameterDict(make_attention(d, H))

    def forward(self, x):
        return run_attention(self.w, x)


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.ParameterDict(make_mlp(d))

    def forward(self, x):
        return run_mlp(self.w, x)


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1 = nn.LayerNorm(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.ln2 = nn.LayerNorm(d)
        self.mlp = MLP(d)

    def forward(self, x):
        y = x + self.attn(self.ln1(x))
        return y + self.mlp(self.ln2(y))


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__()
        assert d % H == 0, "d is not a multiple of H"
        self.T_max = T_max
        self.V = V
        self.table = nn.Parameter(torch.randn(V + T_max, d))
        one, zero = torch.ones(d), torch.zeros(d)
        layers = [make_attention(d, H) | make_mlp(d) | {"norms": torch.stack([one, zero, one, zero])} for _ in range(L)]
        self.w = nn.ParameterDict({key: torch.stack([layer[key] for layer in layers]) for key in layers[0]})
        self.final = nn.Parameter(torch.stack([one, zero]))
        self.W_U = nn.Parameter(torch.empty(V, d).uniform_(-(d**-0.5), d**-0.5))
        with torch.no_grad():
            for key in ("wo", "down"):
                self.w[key] *= 1 / math.sqrt(2 * L)

    def layer(self, l):
        return {key: value[l] for key, value in self.w.items()}

    def depth(self):
        return self.w["norms"].shape[0]

    def embed(self, idx):
        return self.table[idx] + self.table[self.V :][: idx.shape[1]]

    def final_norm(self, x):
        return F.layer_norm(x, x.shape[-1:], self.final[0], self.final[1])

    def forward(self, idx, targets=None):
        T = idx.shape[1]
        assert T <= self.T_max, f"T={T} > T_max={self.T_max}"
        x = self.embed(idx)
        for l in range(self.depth()):
            x = run_block(self.layer(l), x)
        logits = self.final_norm(x) @ self.W_U.T
        if targets is None:
            return logits
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max :])[:, -1]
            new = torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)
            idx = torch.cat((idx, new), dim=1)
        return idx


@torch.no_grad()
def shape_table(model, idx):
    shape = lambda t: tuple(t.shape)
    x = model.embed(idx)
    table = [("embeddings", shape(x))]
    for l in range(model.depth()):
        x = run_block(model.layer(l), x)
        table += [(f"block {l + 1}", shape(x))]
    x = model.final_norm(x)
    table += [("final LayerNorm", shape(x)), ("logits", shape(x @ model.W_U.T))]
    return table
