# /// bank
# about = "own Head with a q Linear and a fused kv Linear; output Parameter (H, d_head, d)"
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


class Head(nn.Module):
    def __init__(self, d, d_head, T_max):
        super().__init__()
        self.to_q = nn.Linear(d, d_head, bias=False)
        self.to_kv = nn.Linear(d, 2 * d_head, bias=False)
        self.register_buffer("causal_mask", torch.ones(T_max, T_max).triu(1).bool(), persistent=False)

    def forward(self, x):
        T = x.shape[1]
        k, v = self.to_kv(x).chunk(2, -1)
        s = torch.bmm(self.to_q(x), k.transpose(1, 2)) / math.sqrt(k.shape[-1])
        return torch.bmm(F.softmax(s.masked_fill(self.causal_mask[:T, :T], float("-inf")), -1), v)


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.heads = nn.ModuleList([Head(d, d // H, T_max) for _ in range(H)])
        self.W_O = nn.Parameter(torch.randn(H, d // H, d) / math.sqrt(d))
        self.b_O = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        y = self.b_O
        for head, w in zip(self.heads, self.W_O):
            y = y + head(x) @ w
        return y


class MLP(nn.Module):
    def __init__(self, d, expansion=4):
        super().__init__()
        self.up = nn.Linear(d, expansion * d)
        self.down = nn.Linear(expansion * d, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, d, H, T_max, p: float = 0.0, norm_first: bool = True):
        super().__init__()
        self.p, self.norm_first = p, norm_first
        self.ff = MLP(d)
        self.n2 = MyLayerNorm(d)
        self.n1 = MyLayerNorm(d)
        self.att = MultiHeadAttention(d, H, T_max)

    def residual(self, x, f, norm):
        branch = f(norm(x))
        return x + F.dropout(branch, self.p, self.training)

    def forward(self, x):
        return self.residual(self.residual(x, self.att, self.n1), self.ff, self.n2)


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
        self.final = MyLayerNorm(d)
        self.unembed = nn.Linear(d, V, bias=False)
        self.init_weights()
        self.scale_writes(self.body)

    @property
    def context_length(self):
        return self.positions.num_embeddings

    @classmethod
    def scale_writes(cls, blocks):
        for block in blocks:
            for w in [block.att.W_O, block.ff.down.weight]:
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
