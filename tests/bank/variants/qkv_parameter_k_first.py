# /// bank
# about = "one Parameter (d, 3d) with chunks k, q, v; bmm over merged batch and heads; loss by log_softmax and gather"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import math
import torch
from torch import nn


def own_softmax(z):
    # subtract the row maximum: exp never overflows
    e = torch.exp(z - z.max(dim=-1, keepdim=True).values)
    return e / e.sum(dim=-1, keepdim=True)


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0, "d must be a multiple of H"
        self.H, self.dh = H, d // H
        self.Wkqv = nn.Parameter(torch.randn(d, 3 * d) / math.sqrt(d))
        self.Wout = nn.Parameter(torch.randn(d, d) / math.sqrt(d))
        self.bout = nn.Parameter(torch.zeros(d))
        self.register_buffer("future", torch.triu(torch.ones(T_max, T_max), diagonal=1).bool())

    def merge(self, t):
        B, T, _ = t.shape
        return t.reshape(B, T, self.H, self.dh).transpose(1, 2).reshape(B * self.H, T, self.dh)

    def forward(self, x):
        B, T, d = x.shape
        k, q, v = (x @ self.Wkqv).chunk(3, dim=-1)
        k, q, v = self.merge(k), self.merge(q), self.merge(v)
        s = torch.bmm(q, k.transpose(1, 2)) / self.dh ** 0.5
        s = s.masked_fill(self.future[:T, :T], torch.finfo(s.dtype).min)
        z = torch.bmm(own_softmax(s), v)
        z = z.view(B, self.H, T, self.dh).transpose(1, 2).reshape(B, T, d)
        return z @ self.Wout + self.bout


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.W1 = nn.Parameter(torch.randn(d, 4 * d) / math.sqrt(d))
        self.b1 = nn.Parameter(torch.zeros(4 * d))
        self.W2 = nn.Parameter(torch.randn(4 * d, d) / math.sqrt(4 * d))
        self.b2 = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        h = x @ self.W1 + self.b1
        h = 0.5 * h * (1 + torch.erf(h / math.sqrt(2)))
        return h @ self.W2 + self.b2


class Norm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d))
        self.b = nn.Parameter(torch.zeros(d))
        self.eps = eps

    def forward(self, x):
        mu = x.mean(-1, keepdim=True)
        var = x.var(-1, keepdim=True, unbiased=False)
        return self.g * (x - mu) / torch.sqrt(var + self.eps) + self.b


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.n1, self.n2 = Norm(d), Norm(d)
        self.mha, self.mlp = MultiHeadAttention(d, H, T_max), MLP(d)

    def forward(self, x):
        y = x + self.mha(self.n1(x))
        return y + self.mlp(self.n2(y))


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        self.E = nn.Parameter(torch.randn(V, d) * 0.02)
        self.P = nn.Parameter(torch.randn(1, T_max, d) * 0.02)
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.nf = Norm(d)
        self.U = nn.Parameter(torch.randn(d, V) * 0.02)
        for b in self.blocks:
            b.mha.Wout.data /= math.sqrt(2 * L)
            b.mlp.W2.data /= math.sqrt(2 * L)

    def forward(self, idx, targets=None):
        T = idx.shape[1]
        assert T <= self.T_max, f"T = {T} > T_max = {self.T_max}"
        x = self.E[idx] + self.P[:, :T]
        for b in self.blocks:
            x = b(x)
        logits = self.nf(x) @ self.U
        if targets is None:
            return logits
        logp = torch.log_softmax(logits, dim=-1)
        loss = -logp.gather(-1, targets.unsqueeze(-1)).squeeze(-1).mean()
        return logits, loss

    def generate(self, idx, max_new_tokens):
        with torch.no_grad():
            n = 0
            while n < max_new_tokens:
                p = own_softmax(self(idx[:, -self.T_max:])[:, -1])
                idx = torch.cat((idx, torch.multinomial(p, 1)), 1)
                n += 1
        return idx


def shape_table(model, idx):
    out = []
    with torch.no_grad():
        x = model.E[idx] + model.P[:, :idx.shape[1]]
        out.append(["embeddings", list(x.shape)])
        for i, b in enumerate(model.blocks):
            x = b(x)
            out.append([f"block {i+1}", list(x.shape)])
        x = model.nf(x)
        out.append(["final LayerNorm", list(x.shape)])
        out.append(["logits", list((x @ model.U).shape)])
    return out
