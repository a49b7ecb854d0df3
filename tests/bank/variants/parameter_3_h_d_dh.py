# /// bank
# about = "one Parameter (3, H, d, d_head), output (H, d_head, d); one-hot embeddings; Gumbel by exponential"
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


class MyLayerNorm(nn.Module):
    def __init__(self, features, eps=1e-8):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        var, mean = torch.var_mean(x, dim=-1, unbiased=False, keepdim=True)
        return self.a_2 * ((x - mean) * (var + self.eps).rsqrt()) + self.b_2


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.w_qkv = nn.Parameter(torch.empty(3, H, d, d // H))
        self.w_o = nn.Parameter(torch.empty(H, d // H, d))
        self.b_o = nn.Parameter(torch.zeros(d))
        nn.init.normal_(self.w_qkv, std=d ** -0.5)
        nn.init.normal_(self.w_o, std=d ** -0.5)

    def forward(self, x):
        T = x.size(1)
        q, k, v = torch.einsum("btd,shde->sbhte", x, self.w_qkv)
        scores = q.matmul(k.transpose(2, 3)).div(math.sqrt(q.size(-1)))
        scores = scores + torch.triu(torch.ones(T, T, device=x.device, dtype=x.dtype), 1) * -1e9
        return torch.einsum("bhte,hed->btd", scores.softmax(dim=-1) @ v, self.w_o) + self.b_o


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
        self.ln1 = MyLayerNorm(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.ln2 = MyLayerNorm(d)
        self.mlp = MLP(d)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return x


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
        self.norm = MyLayerNorm(d)
        self.scale_residuals()

    def scale_residuals(self):
        for block in self.blocks:
            for w in (block.attn.w_o, block.mlp.second,):
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
