# /// bank
# about = "separate q, k, v of full width and F.scaled_dot_product_attention(is_causal=True); head-major chunks"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import torch
from torch import nn
from torch.nn.functional import cross_entropy, gelu, scaled_dot_product_attention


class MultiHeadAttention(nn.Module):
    """All heads in one call. There is no mask buffer: is_causal does it."""

    def __init__(self, d: int, H: int, T_max: int):
        super().__init__()
        self.H, self.d_head = H, d // H
        self.wq = nn.Linear(d, d, bias=False)
        self.wk = nn.Linear(d, d, bias=False)
        self.wv = nn.Linear(d, d, bias=False)
        self.wo = nn.Linear(d, d)

    def split(self, t):
        return t.unflatten(-1, (self.H, self.d_head)).transpose(1, 2)

    def forward(self, x):
        y = scaled_dot_product_attention(
            self.split(self.wq(x)), self.split(self.wk(x)), self.split(self.wv(x)), is_causal=True
        )
        return self.wo(y.transpose(1, 2).flatten(-2))


class MLP(nn.Module):
    def __init__(self, d: int):
        super().__init__()
        self.w1 = nn.Linear(d, 4 * d)
        self.w2 = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.w2(gelu(self.w1(x)))


class Block(nn.Module):
    def __init__(self, d: int, H: int, T_max: int):
        super().__init__()
        self.attention_norm = nn.LayerNorm(d)
        self.attention = MultiHeadAttention(d, H, T_max)
        self.ffn_norm = nn.LayerNorm(d)
        self.ffn = MLP(d)

    def forward(self, x):
        h = x + self.attention(self.attention_norm(x))
        return h + self.ffn(self.ffn_norm(h))


class GPT(nn.Module):
    def __init__(self, V: int, T_max: int, d: int, H: int, L: int):
        super().__init__()
        self.T_max = T_max
        self.tokens = nn.Embedding(V, d)
        self.positions = nn.Embedding(T_max, d)
        self.layers = nn.ModuleList()
        for _ in range(L):
            self.layers.append(Block(d, H, T_max))
        self.norm = nn.LayerNorm(d)
        self.output = nn.Linear(d, V, bias=False)

        for layer in self.layers:
            layer.attention.wo.weight.data /= (2 * L) ** 0.5
            layer.ffn.w2.weight.data /= (2 * L) ** 0.5

    def embed(self, idx):
        return self.tokens(idx) + self.positions.weight[: idx.shape[1]]

    def forward(self, idx, targets=None):
        h = self.embed(idx)
        for layer in self.layers:
            h = layer(h)
        logits = self.output(self.norm(h))
        if targets is None:
            return logits
        return logits, cross_entropy(logits.flatten(0, 1), targets.flatten())

    @torch.inference_mode()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            last = self(idx[:, -self.T_max:])[:, -1]
            new = torch.multinomial(last.softmax(-1), 1)
            idx = torch.cat((idx, new), dim=1)
        return idx


def shape_table(model, idx):
    h = model.embed(idx)
    rows = [("embeddings", tuple(h.shape))]
    for n, layer in enumerate(model.layers, start=1):
        h = layer(h)
        rows.append((f"block {n}", tuple(h.shape)))
    h = model.norm(h)
    rows.append(("final LayerNorm", tuple(h.shape)))
    rows.append(("logits", tuple(model.output(h).shape)))
    return rows
