# /// bank
# about = "q and k by nn.Linear, v as a Conv1D (in, out), output (H, d_head, d); the MLP half raw, half nn.Linear"
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


class Conv1D(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_in, n_out) * 0.02)

    def forward(self, x):
        return torch.matmul(x, self.weight)


class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-8):
        super().__init__()
        self.weight, self.bias, self.eps = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d)), eps

    def forward(self, x):
        m = x.mean(-1, keepdim=True)
        s = torch.sqrt(((x - m) ** 2).mean(-1, keepdim=True) + self.eps)
        return torch.addcmul(self.bias, self.weight, (x - m) / s)


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H, self.dh = H, d // H
        self.q = nn.Linear(d, d, bias=False)
        self.k = nn.Linear(d, d, bias=False)
        self.v = Conv1D(d, d)
        self.out = nn.Parameter(torch.randn(H, d, self.dh) * 0.02)
        self.out_bias = nn.Parameter(torch.zeros(d))
        self.register_buffer("bias_mask", torch.tril(torch.ones(T_max, T_max))[None, None])

    def forward(self, x):
        B, T, _ = x.shape
        def heads(t):
            return t.view(B, T, self.H, self.dh).transpose(1, 2)
        q, k, v = heads(self.q(x)), heads(self.k(x)), heads(self.v(x))
        w = q @ k.transpose(-1, -2) / math.sqrt(self.dh)
        m = self.bias_mask[:, :, :T, :T]
        w = torch.where(m.bool(), w, torch.finfo(w.dtype).min)
        return torch.einsum("bhte,hde->btd", w.softmax(-1) @ v, self.out) + self.out_bias


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w_up = nn.Parameter(torch.randn(d, 4 * d) * 0.02)
        self.b_up = nn.Parameter(torch.zeros(4 * d))
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(F.gelu(torch.matmul(x, self.w_up) + self.b_up))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1, self.attn = LayerNorm(d), MultiHeadAttention(d, H, T_max)
        self.ln2, self.mlp = LayerNorm(d), MLP(d)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return x


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__()
        self.T_max = T_max
        self.wte = nn.Embedding(V, d)
        self.wpe = nn.Parameter(torch.zeros(T_max, d))
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.ln_f = LayerNorm(d)
        self.lm_head = Conv1D(d, V)
        for b in self.blocks:
            nn.init.normal_(b.attn.out, std=0.02 / math.sqrt(2 * L))
            nn.init.normal_(b.mlp.down.weight, std=0.02 / math.sqrt(2 * L))

    def forward(self, idx, targets=None):
        T = idx.size(1)
        assert T <= self.T_max, f"got {T} tokens, T_max is {self.T_max}"
        x = self.wte(idx) + self.wpe[:T]
        for b in self.blocks:
            x = b(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])[0][:, -1]
            idx = torch.cat([idx, torch.multinomial(logits.softmax(-1), 1)], dim=1)
        return idx


@torch.no_grad()
def shape_table(model, idx):
    x = model.wte(idx) + model.wpe[: idx.size(1)]
    rows = [("embeddings", tuple(x.size()))]
    for i, b in enumerate(model.blocks):
        x = b(x)
        rows.append((f"block {i + 1}", tuple(x.size())))
    x = model.ln_f(x)
    rows.append(("final LayerNorm", tuple(x.size())))
    rows.append(("logits", tuple(model.lm_head(x).size())))
    return rows
