# /// bank
# about = "generate is a function of the module, and crops only when the sequence is longer"
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
        self.heads = nn.ModuleList([Head(d, d // H, T_max) for i in range(H)])
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        outs = [head(x) for head in self.heads]
        return self.proj(torch.cat(outs, dim=-1))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        return self.net(x)


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1 = nn.LayerNorm(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.ln2 = nn.LayerNorm(d)
        self.mlp = MLP(d)

    def forward(self, x):
        attn_out = self.attn(self.ln1(x))
        x = x + attn_out
        mlp_out = self.mlp(self.ln2(x))
        x = x + mlp_out
        return x


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        self.tok_emb = nn.Embedding(V, d)
        self.pos_emb = nn.Embedding(T_max, d)
        self.blocks = nn.ModuleList([Block(d, H, T_max) for i in range(L)])
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)

        with torch.no_grad():
            for b in self.blocks:
                b.attn.proj.weight *= (2 * L) ** -0.5
                b.mlp.net[-1].weight *= (2 * L) ** -0.5

    def forward(self, idx, targets=None):
        B, T = idx.shape
        if T > self.T_max:
            raise ValueError("sequence too long: %d > %d" % (T, self.T_max))
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
        for b in self.blocks:
            x = b(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        loss = F.cross_entropy(logits.reshape(B * T, -1), targets.reshape(B * T))
        return logits, loss


@torch.no_grad()
def generate(model, idx, max_new_tokens):
    model.eval()
    for _ in range(max_new_tokens):
        idx_cond = idx
        if idx.shape[1] > model.T_max:
            idx_cond = idx[:, -model.T_max:]
        logits = model(idx_cond)[:, -1, :]
        probs = F.softmax(logits, dim=-1)
        idx = torch.cat([idx, torch.multinomial(probs, num_samples=1)], dim=1)
    return idx


def shape_table(model, idx):
    shapes = []
    x = model.tok_emb(idx) + model.pos_emb(torch.arange(idx.shape[1], device=idx.device))
    shapes.append(("embeddings", x.shape))
    for n, b in enumerate(model.blocks):
        x = b(x)
        shapes.append((f"block {n + 1}", x.shape))
    x = model.ln_f(x)
    shapes.append(("final LayerNorm", x.shape))
    x = model.lm_head(x)
    shapes.append(("logits", x.shape))
    return shapes
