# /// bank
# about = "MultiHeadAttention is a subclass of a minGPT CausalSelfAttention; keyword sizes"
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


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head, block_size, attn_pdrop=0.0):
        super().__init__()
        assert n_embd % n_head == 0
        self.key = nn.Linear(n_embd, n_embd, bias=False)
        self.query = nn.Linear(n_embd, n_embd, bias=False)
        self.value = nn.Linear(n_embd, n_embd, bias=False)
        self.attn_drop = nn.Dropout(attn_pdrop)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.register_buffer("mask", torch.tril(torch.ones(block_size, block_size)).view(1, 1, block_size, block_size))
        self.n_head = n_head

    def forward(self, x, layer_past=None):
        B, T, C = x.size()
        k = self.key(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = self.query(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = self.value(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        att = self.attn_drop(F.softmax(att, dim=-1))
        return self.c_proj((att @ v).transpose(1, 2).contiguous().view(B, T, C))


class MultiHeadAttention(CausalSelfAttention):
    def __init__(self, d, H, T_max):
        super().__init__(n_embd=d, n_head=H, block_size=T_max)


def gelu(x):
    # GPT-2's approximation
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w1, self.w2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        return self.w2(gelu(self.w1(x)))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1 = nn.LayerNorm(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.ln2 = nn.LayerNorm(d)
        self.mlp = MLP(d)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return x


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L, *, std=0.02):
        super().__init__()
        assert min(V, T_max, d, H, L) > 0, "all sizes must be positive"
        self.sizes = {"V": V, "T_max": T_max, "d": d, "H": H, "L": L}
        self.unembedding = nn.Parameter(std * torch.randn(d, V))
        self.final_norm = nn.LayerNorm(d)
        self.stack = nn.ModuleList()
        for _ in range(L):
            block = Block(d, H, T_max)
            self.stack.append(block)
        self.table_of_positions = nn.Embedding(T_max, d)
        self.table_of_tokens = nn.Embedding(V, d)
        self.register_buffer("steps", torch.arange(T_max)[None], persistent=False)
        for block in self.stack:
            for w in [block.attn.c_proj.weight, block.mlp.w2.weight]:
                nn.init.normal_(w, mean=0.0, std=std / math.sqrt(2 * L))

    def trunk(self, idx):
        x = self.table_of_tokens(idx) + self.table_of_positions(self.steps[:, : idx.shape[1]])
        seen = [x]
        for block in self.stack:
            seen.append(block(seen[-1]))
        seen.append(self.final_norm(seen[-1]))
        seen.append(seen[-1] @ self.unembedding)
        return seen

    def forward(self, idx, targets=None):
        T, T_max = idx.shape[-1], self.sizes["T_max"]
        assert T <= T_max, f"T={T} T_max={T_max}"
        logits = self.trunk(idx)[-1]
        return logits if targets is None else (logits, loss_of(logits, targets))


def loss_of(logits, targets):
    return F.cross_entropy(logits.contiguous().view(-1, logits.size(-1)), targets.contiguous().view(-1))


def sample(logits):
    """One token per row, by inverting the cumulative distribution."""
    cumulative = torch.cumsum(torch.softmax(logits, dim=-1), dim=-1)
    u = torch.rand(logits.shape[0], 1, device=logits.device, dtype=logits.dtype)
    return (u > cumulative).sum(dim=-1, keepdim=True).clamp(max=logits.shape[-1] - 1)


@torch.no_grad()
def generate(model, idx, max_new_tokens):
    for _ in range(max_new_tokens):
        context = idx[:, -model.sizes["T_max"]:]
        idx = torch.hstack([idx, sample(model(context)[:, -1])])
    return idx


@torch.no_grad()
def shape_table(model, idx):
    names = ["embeddings", *(f"block {l}" for l in range(1, model.sizes["L"] + 1)), "final LayerNorm", "logits"]
    return list(zip(names, (tuple(t.shape) for t in model.trunk(idx))))
