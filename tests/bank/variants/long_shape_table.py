# /// bank
# about = "shape_table with rows for every sublayer, torch.Size and lists mixed; one-hot embedding; crop always"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import torch
import torch.nn as nn
import torch.nn.functional as F

from head import Head


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.heads = nn.ModuleList(Head(d, d // H, T_max) for _ in range(H))
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        return self.proj(torch.cat([h(x) for h in self.heads], dim=-1))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.hidden = nn.Linear(d, 4 * d)
        self.output = nn.Linear(4 * d, d)

    def forward(self, x):
        h = F.gelu(self.hidden(x))
        return self.output(h)


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1, self.attn = nn.LayerNorm(d), MultiHeadAttention(d, H, T_max)
        self.ln2, self.mlp = nn.LayerNorm(d), MLP(d)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.V, self.T_max = V, T_max
        self.tok = nn.Linear(V, d, bias=False)      # one-hot rows times a matrix
        self.pos = nn.Linear(T_max, d, bias=False)
        self.blocks = nn.ModuleList(Block(d, H, T_max) for _ in range(L))
        self.ln_f = nn.LayerNorm(d)
        self.unembed = nn.Linear(d, V, bias=False)
        for i in range(L):
            self.blocks[i].attn.proj.weight.data *= (1 / (2 * L)) ** 0.5
            self.blocks[i].mlp.output.weight.data *= (1 / (2 * L)) ** 0.5

    def embed(self, idx):
        T = idx.shape[1]
        assert T <= self.T_max, f"T={T}, T_max={self.T_max}"
        W = self.tok.weight
        tokens = F.one_hot(idx, self.V).to(W.dtype)
        places = F.one_hot(torch.arange(T, device=idx.device), self.T_max).to(W.dtype)
        return self.tok(tokens) + self.pos(places)

    def forward(self, idx, targets=None):
        x = self.embed(idx)
        for block in self.blocks:
            x = block(x)
        logits = self.unembed(self.ln_f(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.view(-1, self.V), targets.reshape(-1))

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            context = idx[:, -self.T_max:]
            logits = self(context)
            cumulative = logits[:, -1].softmax(dim=-1).cumsum(dim=-1)
            u = torch.rand(idx.shape[0], 1, device=idx.device) * cumulative[:, -1:]
            idx = torch.cat([idx, torch.searchsorted(cumulative, u, right=True).clamp(max=self.V - 1)], dim=1)
        return idx


@torch.no_grad()
def shape_table(model, idx):
    table = [("idx", idx.shape)]
    x = model.embed(idx)
    table.append(("embeddings", x.shape))
    for n, block in enumerate(model.blocks, start=1):
        a = block.attn(block.ln1(x))
        table.append((f"block {n} attention", list(a.shape)))
        m = block.mlp(block.ln2(x + a))
        table.append((f"block {n} MLP", list(m.shape)))
        x = block(x)
        table.append((f"block {n}", x.shape))
    x = model.ln_f(x)
    table.append(("final LayerNorm", x.shape))
    table.append(("logits", model.unembed(x).shape))
    return table
