# /// bank
# about = "MLP is an nn.Sequential, the whole trunk is one nn.Sequential, shape_table by forward hooks"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F

from head import Head


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.heads = nn.ModuleDict({f"head{h}": Head(d, d // H, T_max) for h in range(H)})
        self.mix = nn.Linear(d, d)

    def forward(self, x):
        outputs = []
        for head in self.heads.values():
            outputs.append(head(x))
        return self.mix(torch.cat(outputs, dim=2))


class MLP(nn.Sequential):
    def __init__(self, d):
        super().__init__(
            nn.Linear(d, 4 * d),
            nn.GELU(),
            nn.Linear(4 * d, d),
        )


class Residual(nn.Module):
    """x + sublayer(LayerNorm(x))"""

    def __init__(self, d, sublayer):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.sublayer = sublayer

    def forward(self, x):
        return x + self.sublayer(self.norm(x))


class Block(nn.Sequential):
    def __init__(self, d, H, T_max):
        super().__init__(
            Residual(d, MultiHeadAttention(d, H, T_max)),
            Residual(d, MLP(d)),
        )


class Embeddings(nn.Module):
    def __init__(self, V, T_max, d):
        super().__init__()
        self.token = nn.Embedding(V, d)
        self.position = nn.Embedding(T_max, d)

    def forward(self, idx):
        positions = torch.arange(idx.size(1), device=idx.device)
        return self.token(idx) + self.position(positions).unsqueeze(0)


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        layers = OrderedDict()
        layers["embeddings"] = Embeddings(V, T_max, d)
        for i in range(L):
            layers[f"block{i}"] = Block(d, H, T_max)
        layers["norm"] = nn.LayerNorm(d)
        layers["unembed"] = nn.Linear(d, V, bias=False)
        self.net = nn.Sequential(layers)

        factor = 1 / (2 * L) ** 0.5
        for module in self.modules():
            if isinstance(module, MultiHeadAttention):
                module.mix.weight.data.mul_(factor)
                module.mix.bias.data.mul_(factor)
            if isinstance(module, MLP):
                module[2].weight.data.mul_(factor)
                module[2].bias.data.mul_(factor)

    def forward(self, idx, targets=None):
        logits = self.net(idx)
        if targets is not None:
            loss = F.cross_entropy(logits.transpose(1, 2), targets)   # (B, V, T) against (B, T)
            return logits, loss
        return logits

    def generate(self, idx, max_new_tokens):
        with torch.no_grad():
            for _ in range(max_new_tokens):
                context = idx[:, -self.T_max:] if idx.size(1) > self.T_max else idx
                logits = self(context)[:, -1, :]
                sampler = torch.distributions.Categorical(logits=logits)
                idx = torch.cat([idx, sampler.sample().unsqueeze(1)], dim=1)
        return idx


def shape_table(model, idx):
    table = []
    handles = []

    def hook(name):
        return lambda module, inputs, output: table.append((name, tuple(output.shape)))

    names = {"norm": "final LayerNorm", "unembed": "logits"}
    for name, layer in model.net.named_children():
        name = names.get(name, name)
        handles.append(layer.register_forward_hook(hook(name)))
    with torch.no_grad():
        model(idx)
    for handle in handles:
        handle.remove()
    return table
