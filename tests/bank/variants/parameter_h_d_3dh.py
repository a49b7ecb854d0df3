# /// bank
# about = "one Parameter (H, d, 3 d_head) for all heads; sampling and initialisation by mixins"
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


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        # one (d, 3 * d_head) matrix for each head, in one tensor
        self.weight = nn.Parameter(torch.randn(H, d, 3 * (d // H)) / d ** 0.5)
        self.output = nn.Linear(d, d)
        self.register_buffer("mask", torch.tril(torch.ones(T_max, T_max)) == 0)

    def forward(self, x):
        B, T, d = x.shape
        q, k, v = torch.matmul(x.unsqueeze(1), self.weight).chunk(3, dim=-1)  # (B, H, T, d_head) each
        att = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
        att.masked_fill_(self.mask[:T, :T], float("-inf"))
        att = torch.softmax(att, dim=-1)
        return self.output(torch.matmul(att, v).transpose(1, 2).reshape(B, T, d))


class MLP(nn.Module):
    def __init__(self, d, expansion=4):
        super().__init__()
        self.up = nn.Linear(d, expansion * d)
        self.down = nn.Linear(expansion * d, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.sublayers = nn.ModuleList([MultiHeadAttention(d, H, T_max), MLP(d)])
        self.norms = nn.ModuleList([nn.LayerNorm(d) for _ in self.sublayers])

    def forward(self, X):
        return reduce(lambda x, pair: x + pair[1](pair[0](x)), zip(self.norms, self.sublayers), X)


class SamplingMixin:
    """Adds generate() to anything with .context_length and a forward that gives logits."""

    @torch.no_grad()
    def generate(self, idx, max_new_tokens, temperature=1.0, top_k=None, top_p=None):
        training = self.training
        self.eval()
        try:
            for _ in range(max_new_tokens):
                logits = self(idx[:, -self.context_length:])[:, -1] / temperature
                if top_k is not None:
                    kth = logits.topk(top_k).values[:, -1:]
                    logits = logits.masked_fill(logits < kth, float("-inf"))
                idx = torch.cat([idx, torch.distributions.Categorical(logits=logits).sample().unsqueeze(1)], dim=1)
        finally:
            self.train(training)
        return idx


class InitMixin:
    def init_weights(self, std=0.02):
        for module in self.modules():
            if isinstance(module, (nn.Embedding, nn.Linear)):
                nn.init.trunc_normal_(module.weight, std=std, a=-3 * std, b=3 * std)
                if getattr(module, "bias", None) is not None:
                    nn.init.zeros_(module.bias)


class GPT(SamplingMixin, InitMixin, nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(V, d), nn.Embedding(T_max, d)
        self.body = nn.ModuleList(Block(d, H, T_max) for _ in range(L))
        self.final = nn.LayerNorm(d)
        self.unembed = nn.Linear(d, V, bias=False)
        self.init_weights()
        self.scale_writes(self.body)

    @property
    def context_length(self):
        return self.positions.num_embeddings

    @classmethod
    def scale_writes(cls, blocks):
        for block in blocks:
            for w in [block.sublayers[0].output.weight, block.sublayers[1].down.weight]:
                w.data.copy_(w.data / math.sqrt(2 * len(blocks)))

    def stream(self, idx):
        x = self.tokens(idx) + self.positions(torch.arange(idx.size(1), device=idx.device))[None]
        yield "embeddings", x
        for i, block in enumerate(self.body, start=1):
            x = block(x)
            yield f"block {i}", x
        x = self.final(x)
        yield "final LayerNorm", x
        yield "logits", self.unembed(x)

    def forward(self, idx, targets=None):
        assert idx.size(1) <= self.context_length, f"{idx.size(1)} tokens > {self.context_length}"
        for _, logits in self.stream(idx):
            pass
        if targets is None:
            return logits
        return logits, nn.functional.nll_loss(F.log_softmax(logits, -1).flatten(0, 1), targets.flatten())


def shape_table(model, idx):
    return [(name, tuple(t.shape)) for name, t in model.stream(idx)]
