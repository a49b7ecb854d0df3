# /// bank
# about = "own Head with one Parameter (d_head, 3, d), outputs stacked"
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


class Head(nn.Module):
    """My own head: W is (d_head, 3, d), and needs no T_max."""

    def __init__(self, d, d_head, T_max=None):
        super().__init__()
        self.W = nn.Parameter(torch.randn(d_head, 3, d) / math.sqrt(d))

    def forward(self, x):
        q, k, v = torch.einsum("btd,erd->rbte", x, self.W)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.heads = nn.ModuleList([Head(d, d // H) for _ in range(H)])
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        y = torch.stack([h(x) for h in self.heads], dim=2)
        return self.proj(y.view(x.shape))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        return self.net(x)


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
        self.final = SphereNorm(d)
        self.unembed = nn.Linear(d, V, bias=False)
        self.init_weights()
        self.scale_writes(self.body)

    @property
    def context_length(self):
        return self.positions.num_embeddings

    @classmethod
    def scale_writes(cls, blocks):
        for block in blocks:
            for w in [block.mha.proj.weight, block.ffn.net[2].weight]:
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
