# /// bank
# about = "the four matrices in one ParameterList; own stable softmax; gain and bias in one (2, d) parameter"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import math
from functools import reduce

import torch
import torch.nn as nn
import torch.nn.functional as F


class Norm(nn.Module):
    """Gain and bias in one (2, d) parameter."""
    def __init__(self, d):
        super().__init__()
        self.affine = nn.Parameter(torch.stack([torch.ones(d), torch.zeros(d)]))

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:]) * self.affine[0] + self.affine[1]


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H = H
        self.W = nn.ParameterList([nn.Parameter(torch.randn(d, d) * d ** -0.5) for _ in range(4)])  # Q, K, V, O
        self.b = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        B, T, d = x.shape
        q, k, v = [(x @ w).view(B, T, self.H, -1).transpose(1, 2) for w in list(self.W)[:3]]
        s = q @ k.transpose(2, 3) * (d // self.H) ** -0.5
        s = s.masked_fill(torch.triu(torch.ones(T, T, device=x.device), 1).bool(), -1e4)
        s = s - s.amax(-1, keepdim=True)
        p = s.exp()
        p = p / p.sum(-1, keepdim=True)
        return (p @ v).transpose(1, 2).reshape(B, T, d) @ self.W[3] + self.b


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.first = nn.Parameter(torch.randn(4 * d, d) * 0.02)
        self.second = nn.Parameter(torch.randn(d, 4 * d) * 0.02)
        self.biases = nn.ParameterDict({"first": nn.Parameter(torch.zeros(4 * d)), "second": nn.Parameter(torch.zeros(d))})

    def forward(self, x):
        h = F.linear(x, self.first, self.biases["first"])
        h = h * torch.special.ndtr(h)  # exact GELU: x Phi(x)
        return F.linear(h, self.second, self.biases["second"])


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.sublayers = nn.ModuleList([MultiHeadAttention(d, H, T_max), MLP(d)])
        self.norms = nn.ModuleList([Norm(d) for _ in self.sublayers])

    def forward(self, X):
        return reduce(lambda x, pair: x + pair[1](pair[0](x)), zip(self.norms, self.sublayers), X)


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.V, self.T_max, self.L = V, T_max, L
        self.E = nn.Parameter(torch.randn(V, d) * 0.02)
        self.P = nn.Parameter(torch.randn(T_max, d) * 0.01)
        self.U = nn.Parameter(torch.randn(V, d) * 0.02)
        self.blocks = nn.Sequential()
        for l in range(L):
            self.blocks.add_module(str(l), Block(d, H, T_max))
        self.norm = Norm(d)
        self.scale_residuals()

    def scale_residuals(self):
        for block in self.blocks:
            for w in (block.sublayers[0].W[3], block.sublayers[1].second,):
                w.data = w.data * (2 * self.L) ** -0.5

    def embed(self, idx):
        # a row of E is a one-hot vector times E
        one_hot = F.one_hot(idx, num_classes=self.V).to(self.E.dtype)
        here = torch.eye(self.T_max, dtype=self.P.dtype, device=self.P.device)[: idx.shape[1]]
        return one_hot @ self.E + here @ self.P

    def forward(self, idx, targets=None):
        assert idx.shape[1] <= self.T_max, "T = {} but T_max = {}".format(idx.shape[1], self.T_max)
        logits = F.linear(self.norm(self.blocks(self.embed(idx))), self.U)
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(torch.movedim(logits, -1, 1), targets)

    @torch.inference_mode()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits, _ = self(idx[:, -self.T_max:])
            gumbel = -torch.empty_like(logits[:, -1]).exponential_().log()
            new = torch.argmax(logits[:, -1] + gumbel, dim=-1, keepdim=True)
            idx = torch.cat((idx, new), dim=1)
        return idx


def shape_table(model, idx):
    x = model.embed(idx)
    shapes = {"embeddings": x.shape}
    for number, block in enumerate(model.blocks, 1):
        x = block(x)
        shapes["block %d" % number] = x.shape
    x = model.norm(x)
    shapes["final LayerNorm"] = x.shape
    shapes["logits"] = F.linear(x, model.U).shape
    return [(stage, tuple(shape)) for stage, shape in shapes.items()]
