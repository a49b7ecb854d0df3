# /// bank
# about = "biases, gains and the position table keep leading axes of 1, as numpy habit has it"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import torch
from torch import nn
from torch.nn import Parameter
from torch.nn.functional import cross_entropy, gelu, softmax
from math import sqrt


def glorot(n_in, n_out):
    bound = sqrt(6 / (n_in + n_out))
    return Parameter(torch.empty(n_in, n_out).uniform_(-bound, bound))


class LayerNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.gamma = Parameter(torch.ones(1, 1, d))
        self.beta = Parameter(torch.zeros(1, 1, d))

    def forward(self, x):
        m = x.mean(2, keepdim=True)
        s2 = ((x - m) ** 2).mean(2, keepdim=True)
        return self.gamma * (x - m) / (s2 + 1e-5) ** 0.5 + self.beta


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H = H
        self.WQ, self.WK, self.WV, self.WO = glorot(d, d), glorot(d, d), glorot(d, d), glorot(d, d)
        self.bO = Parameter(torch.zeros(1, 1, d))

    def forward(self, X):
        B, T, d = X.shape
        dh = d // self.H
        Q, K, V = X @ self.WQ, X @ self.WK, X @ self.WV
        M = torch.tril(torch.ones(T, T, device=X.device))
        heads = []
        for h in range(self.H):
            s = slice(h * dh, (h + 1) * dh)
            S = Q[:, :, s] @ K[:, :, s].transpose(1, 2) / sqrt(dh)
            A = softmax(S.masked_fill(M == 0, float("-inf")), dim=2)
            heads.append(A @ V[:, :, s])
        return torch.cat(heads, 2) @ self.WO + self.bO


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.W1, self.W2 = glorot(d, 4 * d), glorot(4 * d, d)
        self.b1, self.b2 = Parameter(torch.zeros(1, 1, 4 * d)), Parameter(torch.zeros(1, 1, d))

    def forward(self, X):
        return gelu(X @ self.W1 + self.b1) @ self.W2 + self.b2


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.LN1, self.MHA, self.LN2, self.MLP = LayerNorm(d), MultiHeadAttention(d, H, T_max), LayerNorm(d), MLP(d)

    def forward(self, X):
        Y = X + self.MHA(self.LN1(X))
        Z = Y + self.MLP(self.LN2(Y))
        return Z


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        self.WE = Parameter(torch.randn(V, d) * 0.1)
        self.WP = Parameter(torch.randn(1, T_max, d) * 0.1)
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.LNf = LayerNorm(d)
        self.WU = Parameter(torch.randn(d, V) * 0.02)
        for b in self.blocks:
            b.MHA.WO.data *= 1 / sqrt(2 * L)
            b.MLP.W2.data *= 1 / sqrt(2 * L)

    def forward(self, idx, targets=None):
        T = idx.shape[1]
        assert T <= self.T_max, f"T = {T}, T_max = {self.T_max}"
        X = self.WE[idx] + self.WP[:, :T]
        for b in self.blocks:
            X = b(X)
        logits = self.LNf(X) @ self.WU
        if targets is None:
            return logits
        return logits, cross_entropy(logits.permute(0, 2, 1), targets)

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            p = softmax(self(idx[:, -self.T_max:])[:, -1], dim=1)
            idx = torch.cat([idx, torch.multinomial(p, 1)], dim=1)
        return idx


def shape_table(model, idx):
    X = model.WE[idx] + model.WP[:, :idx.shape[1]]
    rows = [("embeddings", tuple(X.shape))]
    for l, b in enumerate(model.blocks, 1):
        X = b(X)
        rows.append((f"block {l}", tuple(X.shape)))
    X = model.LNf(X)
    rows.append(("final LayerNorm", tuple(X.shape)))
    rows.append(("logits", tuple((X @ model.WU).shape)))
    return rows
