# /// bank
# about = "fused qkv, but an output Parameter for each head; forward always returns a pair"
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
        self.H = H
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.W_O = nn.ParameterList([nn.Parameter(torch.randn(d // H, d) / math.sqrt(d)) for _ in range(H)])
        self.b_O = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        B, T, d = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.H, -1).permute(2, 3, 0, 1, 4)  # each (H, B, T, d_head)
        z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return sum(z[h] @ self.W_O[h] for h in range(self.H)) + self.b_O


class MLP(nn.Module):
    def __init__(self, d, expansion=4):
        super().__init__()
        self.up = nn.Linear(d, expansion * d)
        self.down = nn.Linear(expansion * d, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, d, H, T_max, *, dropout=0.0):
        super().__init__()
        self.ffn = MLP(d=d)
        self.mha = MultiHeadAttention(d=d, H=H, T_max=T_max)
        self.norm_ffn = nn.LayerNorm(d)
        self.norm_mha = nn.LayerNorm(d)
        self.drop1, self.drop2 = nn.Dropout(dropout), nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.drop1(self.mha(self.norm_mha(x)))
        return x + self.drop2(self.ffn(self.norm_ffn(x)))


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
        self.norm = nn.LayerNorm(d)
        self.scale_residuals()

    def scale_residuals(self):
        for block in self.blocks:
            for w in (*block.mha.W_O, block.ffn.down.weight,):
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
