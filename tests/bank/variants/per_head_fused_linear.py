# /// bank
# about = "each head one Linear(d, 3 d_head); shape_table returns a dict; init std 0.02/sqrt(2L) by parameter name"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttentionHead(nn.Module):
    def __init__(self, d, d_head, T_max):
        super().__init__()
        self.d_head = d_head
        self.qkv = nn.Linear(d, 3 * d_head, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(T_max, T_max)))

    def forward(self, x):
        T = x.shape[1]
        q, k, v = torch.split(self.qkv(x), self.d_head, dim=-1)
        wei = q @ k.transpose(-2, -1) * self.d_head ** -0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, -1e9)
        return F.softmax(wei, dim=-1) @ v


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0, "width not divisible"
        for h in range(H):
            self.add_module("head%d" % h, SelfAttentionHead(d, d // H, T_max))
        self.H = H
        self.out = nn.Linear(d, d)

    def forward(self, x):
        return self.out(torch.cat([getattr(self, "head%d" % h)(x) for h in range(self.H)], -1))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.expand = nn.Linear(d, d * 4)
        self.out = nn.Linear(d * 4, d)

    def forward(self, x):
        return self.out(nn.functional.gelu(self.expand(x), approximate="none"))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.layers = nn.ModuleDict({
            "norm_a": nn.LayerNorm(d), "attention": MultiHeadAttention(d, H, T_max),
            "norm_b": nn.LayerNorm(d), "feedforward": MLP(d),
        })

    def forward(self, x):
        l = self.layers
        x = x + l["attention"](l["norm_a"](x))
        return x + l["feedforward"](l["norm_b"](x))


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        self.emb = nn.ModuleDict({"tok": nn.Embedding(V, d), "pos": nn.Embedding(T_max, d)})
        self.layers = nn.ModuleDict({f"layer{i}": Block(d, H, T_max) for i in range(L)})
        self.norm = nn.LayerNorm(d)
        self.unemb = nn.Linear(d, V, bias=False)
        self.init(L)

    def init(self, L):
        for name, p in self.named_parameters():
            if name.endswith("out.weight"):
                nn.init.normal_(p, std=0.02 / (2 * L) ** 0.5)
            elif p.dim() >= 2:
                nn.init.normal_(p, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"T={T} but T_max={self.T_max}"
        x = self.emb["tok"](idx) + self.emb["pos"](torch.arange(T).to(idx.device))
        for layer in self.layers.values():
            x = layer(x)
        logits = self.unemb(self.norm(x))
        if targets is not None:
            return logits, F.cross_entropy(logits.permute(0, 2, 1), targets, reduction="mean")
        return logits

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        B, T = idx.shape
        full = torch.zeros((B, T + max_new_tokens), dtype=torch.long, device=idx.device)
        full[:, :T] = idx
        for t in range(T, T + max_new_tokens):
            start = max(0, t - self.T_max)
            logits = self(full[:, start:t])[:, -1]
            full[:, t] = torch.multinomial(F.softmax(logits, -1), 1).squeeze(1)
        return full


@torch.no_grad()
def shape_table(model, idx):
    table = {}
    x = model.emb["tok"](idx) + model.emb["pos"](torch.arange(idx.shape[1]).to(idx.device))
    table["embeddings"] = tuple(x.shape)
    for i, layer in enumerate(model.layers.values()):
        x = layer(x)
        table["block " + str(i + 1)] = tuple(x.shape)
    x = model.norm(x)
    table["final LayerNorm"] = tuple(x.shape)
    table["logits"] = tuple(model.unemb(x).shape)
    return table
