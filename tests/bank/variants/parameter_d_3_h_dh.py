# /// bank
# about = "one Parameter (d, 3, H, d_head) with tensordot; SDPA; norm as a projection onto the sphere; dict output"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import math
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F


class SphereNorm(nn.Module):
    """Project onto 1-perp, then to radius sqrt(d)."""
    def __init__(self, d):
        super().__init__()
        self.gain_and_bias = nn.ParameterList([torch.ones(d), torch.zeros(d)])

    def forward(self, x):
        x = x - x.mean(-1, keepdim=True)
        d = x.shape[-1]
        g, b = self.gain_and_bias
        return x / (x.pow(2).sum(-1, keepdim=True) / d + 1e-5).sqrt() * g + b


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        k = 1 / math.sqrt(d)
        self.W_in = nn.Parameter(torch.empty(d, 3, H, d // H).uniform_(-k, k))
        self.W_out = nn.Parameter(torch.empty(d, d).uniform_(-k, k))
        self.b_out = nn.Parameter(torch.empty(d).uniform_(-k, k))

    def forward(self, x):
        q, k, v = torch.tensordot(x, self.W_in, dims=1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return F.linear(y.transpose(1, 2).flatten(-2), self.W_out, self.b_out)


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.l = nn.ModuleDict({"fc_out": nn.Linear(4 * d, d), "fc_in": nn.Linear(d, 4 * d), "act": nn.GELU()})

    def forward(self, x):
        for name in ("fc_in", "act", "fc_out"):
            x = self.l[name](x)
        return x


class Block(nn.Module):
    def __init__(self, d, H, T_max, *, dropout=0.0):
        super().__init__()
        self.ffn = MLP(d=d)
        self.mha = MultiHeadAttention(d=d, H=H, T_max=T_max)
        self.norm_ffn = SphereNorm(d)
        self.norm_mha = SphereNorm(d)
        self.drop1, self.drop2 = nn.Dropout(dropout), nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.drop1(self.mha(self.norm_mha(x)))
        return x + self.drop2(self.ffn(self.norm_ffn(x)))


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        self.model = nn.ModuleDict(dict(
            embed=nn.Embedding(V, d),
            blocks=nn.Sequential(OrderedDict((f"b{i}", Block(d, H, T_max)) for i in range(L))),
            norm=SphereNorm(d),
            head=nn.Linear(d, V, bias=False),
        ))
        self.position_embedding = nn.Parameter(torch.zeros(1, T_max, d))
        nn.init.normal_(self.position_embedding, std=0.01)
        for block in self.model.blocks:
            with torch.no_grad():
                [w.mul_(torch.tensor(1 / (2 * L)).sqrt()) for w in [block.mha.W_out, block.ffn.l["fc_out"].weight]]

    def hidden(self, idx):
        return F.embedding(idx, self.model.embed.weight) + self.position_embedding[:, :idx.shape[1], :]

    def forward(self, idx, targets=None):
        T = idx.shape[1]
        if T > self.T_max:
            raise ValueError(f"idx is too long: {T} > {self.T_max}")
        x = self.model.blocks(self.hidden(idx))
        out = {"logits": self.model.head(self.model.norm(x)), "loss": None}
        if targets is not None:
            out["loss"] = F.cross_entropy(out["logits"].transpose(-1, -2), targets)
        return out

    def generate(self, idx, max_new_tokens):
        with torch.no_grad():
            tokens = list(idx.unbind(1))
            while len(tokens) < idx.shape[1] + max_new_tokens:
                window = torch.stack(tokens[-self.T_max:], dim=1)
                probs = self.forward(window)["logits"][:, -1].softmax(dim=-1)
                tokens.append(torch.multinomial(probs, 1).squeeze(-1))
            return torch.stack(tokens, dim=1)


def shape_table(model, idx):
    stages = [("embeddings", model.hidden)]
    stages += [(f"block {i}", block) for i, block in enumerate(model.model.blocks, 1)]
    stages += [("final LayerNorm", model.model.norm), ("logits", model.model.head)]
    value, table = idx, []
    for name, stage in stages:
        value = stage(value)
        table.append((name, tuple(value.shape)))
    return table
