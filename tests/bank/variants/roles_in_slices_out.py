# /// bank
# about = "q, k, v of full width, an output Linear for each head of which the first has the bias"
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


class LayerNorm(nn.Module):
    """ LayerNorm with an optional bias """
    def __init__(self, ndim, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(ndim))
        self.bias = nn.Parameter(torch.zeros(ndim)) if bias else None

    def forward(self, input):
        return F.layer_norm(input, self.weight.shape, self.weight, self.bias, 1e-5)


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.d_head = d // H
        self.Q = nn.Linear(d, d, bias=False)
        self.K = nn.Linear(d, d, bias=False)
        self.V = nn.Linear(d, d, bias=False)
        # the first one carries the bias of the sum
        self.writes = nn.ModuleList(nn.Linear(self.d_head, d, bias=h == 0) for h in range(H))
        self.register_buffer("tri", torch.tril(torch.ones(T_max, T_max)))

    def forward(self, x):
        T = x.size(1)
        out = 0
        for h, write in enumerate(self.writes):
            part = slice(h * self.d_head, (h + 1) * self.d_head)
            q, k, v = self.Q(x)[..., part], self.K(x)[..., part], self.V(x)[..., part]
            s = q @ k.transpose(-2, -1) / math.sqrt(self.d_head)
            s = s.masked_fill(self.tri[:T, :T] == 0, torch.finfo(s.dtype).min)
            out = out + write(F.softmax(s, dim=-1) @ v)
        return out


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        return self.net(x)


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1 = LayerNorm(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.ln2 = LayerNorm(d)
        self.mlp = MLP(d)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return x


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
        self.final = LayerNorm(d)
        self.unembed = nn.Linear(d, V, bias=False)
        self.init_weights()
        self.scale_writes(self.body)

    @property
    def context_length(self):
        return self.positions.num_embeddings

    @classmethod
    def scale_writes(cls, blocks):
        for block in blocks:
            for w in [*[p.weight for p in block.attn.writes], block.mlp.net[2].weight]:
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
