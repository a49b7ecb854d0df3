# /// bank
# about = "heads are dataclass-configured modules that each own q, k, v and an output Parameter (d_head, d)"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import math
from dataclasses import dataclass
from functools import reduce

import torch
from torch import nn
from torch.nn import functional as F


@dataclass
class Config:
    vocab: int
    context: int
    width: int
    heads: int
    depth: int

    @property
    def head_width(self):
        return self.width // self.heads


class WritingHead(nn.Module):
    """A head that reads from the stream and writes back to it with its own d_head rows of W_O."""

    def __init__(self, d, d_head):
        super().__init__()
        make = lambda *s: nn.Parameter(nn.init.normal_(torch.empty(*s), std=d ** -0.5))
        self.q, self.k, self.v = make(d, d_head), make(d, d_head), make(d, d_head)
        self.o = make(d_head, d)

    def forward(self, x, mask):
        scores = (x @ self.q) @ (x @ self.k).transpose(-1, -2) / math.sqrt(self.q.shape[1])
        return torch.softmax(scores + mask, dim=-1) @ (x @ self.v) @ self.o


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.heads = nn.ModuleList(WritingHead(d, d // H) for _ in range(H))
        self.bias = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        T = x.shape[-2]
        mask = torch.full((T, T), float("-inf"), device=x.device, dtype=x.dtype).triu(diagonal=1)
        return sum((head(x, mask) for head in self.heads), start=self.bias)


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn, self.mlp = MultiHeadAttention(d, H, T_max), MLP(d)

    def forward(self, x):
        return (y := x + self.attn(self.ln1(x))) + self.mlp(self.ln2(y))


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.cfg = c = Config(V, T_max, d, H, L)
        self.tok_emb, self.pos_emb = nn.Embedding(c.vocab, c.width), nn.Embedding(c.context, c.width)
        self.blocks = nn.ModuleList(Block(c.width, c.heads, c.context) for _ in range(c.depth))
        self.ln_f = nn.LayerNorm(c.width)
        self.lm_head = nn.Linear(c.width, c.vocab, bias=False)
        self.register_buffer("places", torch.arange(c.context), persistent=False)
        with torch.no_grad():
            for block in self.blocks:
                for p in [head.o for head in block.attn.heads] + [block.mlp.down.weight]:
                    p.mul_(1 / math.sqrt(2 * c.depth))

    def embed(self, idx):
        return self.tok_emb(idx) + self.pos_emb(self.places[: idx.shape[1]])

    def forward(self, idx, targets=None):
        assert idx.shape[1] <= self.cfg.context, f"{idx.shape[1]} > {self.cfg.context}"
        x = reduce(lambda s, block: block(s), self.blocks, self.embed(idx))
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(end_dim=-2), targets.flatten())

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        def step(seq, _):
            p = self(seq[:, -self.cfg.context:])[:, -1].softmax(-1)
            return torch.cat([seq, p.multinomial(1)], 1)
        return reduce(step, range(max_new_tokens), idx)


@torch.no_grad()
def shape_table(model, idx):
    table, handles = [], []
    watch = [(f"block {i}", b) for i, b in enumerate(model.blocks, 1)]
    watch += [("final LayerNorm", model.ln_f), ("logits", model.lm_head)]
    for name, module in watch:
        handles.append(module.register_forward_hook(lambda m, i, o, name=name: table.append((name, tuple(o.shape)))))
    table.append(("embeddings", tuple(model.embed(idx).shape)))
    model(idx)
    for h in handles:
        h.remove()
    return table
