# /// bank
# about = "a ParameterList in mixed orientations, heads folded into the batch, baddbmm"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import torch
from torch import nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H, self.dh = H, d // H
        std = 0.6 * d ** -0.5
        self.ws = nn.ParameterList()
        self.ws.append(nn.Parameter(std * torch.randn(d, d)))
        self.ws.append(nn.Parameter(std * torch.randn(d, d)))
        self.ws.append(nn.Parameter(std * torch.randn(H, self.dh, d)))
        self.ws.append(nn.Parameter(std * torch.randn(d, d)))
        self.ws.append(nn.Parameter(torch.zeros(d)))

    def forward(self, x):
        Wq, Wk, Wv, Wo, b = self.ws
        B, T, d = x.shape
        fold = lambda t: t.view(B, T, self.H, self.dh).transpose(1, 2).reshape(B * self.H, T, self.dh)
        q, k, v = fold(x @ Wq), fold(x @ Wk.T), fold(F.linear(x, Wv.reshape(d, d)))
        tri = torch.ones(T, T, device=x.device, dtype=x.dtype).tril().log()  # 0 below, -inf above
        att = torch.baddbmm(tri, q, k.transpose(1, 2), alpha=self.dh ** -0.5).softmax(dim=-1)
        y = torch.bmm(att, v).view(B, self.H, T, self.dh).transpose(1, 2).reshape(B, T, d)
        return y @ Wo.T + b


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.act = nn.GELU()
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(self.act(self.up(x)))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1, self.attn = nn.LayerNorm(d), MultiHeadAttention(d, H, T_max)
        self.ln2, self.mlp = nn.LayerNorm(d), MLP(d)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return x


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__()
        self.T_max = T_max
        self.tok_emb = nn.Embedding(V, d)
        self.pos_emb = nn.Embedding(T_max, d)
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        with torch.no_grad():
            for block in self.blocks:
                block.attn.ws[3].mul_((2 * L) ** -0.5)
                block.mlp.down.weight.mul_((2 * L) ** -0.5)

    def forward(self, idx, targets=None):
        T = idx.size(1)
        assert T <= self.T_max, f"too long: {T} > {self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.flatten())

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            p = self(idx[:, -self.T_max:])[:, -1].softmax(-1)
            cdf = p.cumsum(-1)
            u = torch.rand(idx.size(0), 1, device=idx.device, dtype=p.dtype) * cdf[:, -1:]
            new = torch.searchsorted(cdf, u, right=True).clamp(max=p.size(1) - 1)
            idx = torch.cat([idx, new], dim=1)
        return idx


@torch.no_grad()
def shape_table(model, idx):
    x = model.tok_emb(idx) + model.pos_emb(torch.arange(idx.size(1), device=idx.device))
    rows = [("embeddings", tuple(x.shape))]
    for i, block in enumerate(model.blocks, 1):
        x = block(x)
        rows.append((f"block {i}", tuple(x.shape)))
    x = model.ln_f(x)
    rows.append(("final LayerNorm", tuple(x.shape)))
    rows.append(("logits", tuple(model.lm_head(x).shape)))
    return rows
