# /// bank
# about = "Block keeps a Sequential of its own instead of the MLP class; LayerNorm subclass"
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


class LN(nn.LayerNorm):
    def __init__(self, d):
        super().__init__(d, eps=1e-6)
        self.d = d


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
        self.net = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        return self.net(x)


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.norm1, self.norm2 = LN(d), LN(d)
        self.attention = MultiHeadAttention(d, H, T_max)
        # the MLP again, in place
        self.net = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.net(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        self.model = nn.ModuleDict(dict(
            embed=nn.Embedding(V, d),
            blocks=nn.Sequential(OrderedDict((f"b{i}", Block(d, H, T_max)) for i in range(L))),
            norm=LN(d),
            head=nn.Linear(d, V, bias=False),
        ))
        self.position_embedding = nn.Parameter(torch.zeros(1, T_max, d))
        nn.init.normal_(self.position_embedding, std=0.01)
        for block in self.model.blocks:
            with torch.no_grad():
                [w.mul_(torch.tensor(1 / (2 * L)).sqrt()) for w in [block.attention.W_out, block.net[2].weight]]

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
