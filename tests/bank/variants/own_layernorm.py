# /// bank
# about = "own LayerNorm, additive triu mask of finfo.min per call, heads as lists of Linears, positions a Parameter"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import torch as t
import torch.nn as nn


class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(t.ones(d))
        self.bias = nn.Parameter(t.zeros(d))

    def forward(self, u):
        centred = u - u.mean(dim=-1, keepdim=True)
        variance = centred.pow(2).mean(dim=-1, keepdim=True)
        return self.gain * centred / t.sqrt(variance + self.eps) + self.bias


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.d_head = d // H
        self.Q = nn.ModuleList([nn.Linear(d, self.d_head, bias=False) for _ in range(H)])
        self.K = nn.ModuleList([nn.Linear(d, self.d_head, bias=False) for _ in range(H)])
        self.V = nn.ModuleList([nn.Linear(d, self.d_head, bias=False) for _ in range(H)])
        self.O = nn.Linear(d, d)

    def forward(self, x):
        T = x.size(-2)
        mask = t.full((T, T), t.finfo(x.dtype).min, dtype=x.dtype, device=x.device).triu(diagonal=1)
        heads = []
        for Q, K, V in zip(self.Q, self.K, self.V):
            scores = Q(x) @ K(x).mT * self.d_head ** -0.5 + mask
            heads.append(scores.softmax(dim=-1) @ V(x))
        return self.O(t.cat(heads, dim=-1))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.expand = nn.Linear(d, 4 * d)
        self.contract = nn.Linear(4 * d, d)

    def forward(self, x):
        x = self.expand(x)
        x = 0.5 * x * (1 + t.erf(x / 2 ** 0.5))  # GELU
        return self.contract(x)


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.norms = nn.ModuleList([LayerNorm(d), LayerNorm(d)])
        self.layers = nn.ModuleList([MultiHeadAttention(d, H, T_max), MLP(d)])

    def forward(self, x):
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x))
        return x


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        self.embed = nn.Embedding(V, d)
        self.pos = nn.Parameter(t.zeros(1, T_max, d))
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.final = LayerNorm(d)
        self.unembed = nn.Linear(d, V, bias=False)
        nn.init.normal_(self.embed.weight, std=0.02)
        nn.init.normal_(self.unembed.weight, std=0.02)
        for block in self.blocks:
            for lin in (block.layers[0].O, block.layers[1].contract):
                nn.init.normal_(lin.weight, std=0.02 / (2 * L) ** 0.5)
                nn.init.zeros_(lin.bias)

    def forward(self, idx, targets=None):
        T = idx.shape[1]
        if T > self.T_max:
            raise ValueError(f"sequence length {T} is larger than T_max = {self.T_max}")
        x = self.embed(idx) + self.pos[:, :T]
        for block in self.blocks:
            x = block(x)
        logits = self.unembed(self.final(x))
        if targets is None:
            return logits
        log_probs = logits.log_softmax(dim=-1)
        picked = log_probs.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
        return logits, -picked.mean()

    @t.no_grad()
    def generate(self, idx, max_new_tokens):
        new = 0
        while new < max_new_tokens:
            context = idx[:, max(0, idx.shape[1] - self.T_max):]
            logits = self.forward(context)
            probs = logits[:, -1].softmax(-1)
            idx = t.cat([idx, t.multinomial(probs, num_samples=1)], dim=1)
            new += 1
        return idx


def shape_table(model, idx):
    table = {}
    x = model.embed(idx) + model.pos[:, :idx.shape[1]]
    table["embeddings"] = tuple(x.shape)
    for i, block in enumerate(model.blocks, 1):
        x = block(x)
        table[f"block {i}"] = tuple(x.shape)
    x = model.final(x)
    table["final LayerNorm"] = tuple(x.shape)
    table["logits"] = tuple(model.unembed(x).shape)
    return list(table.items())
