# /// bank
# about = "values as one parameter for each head, queries and keys by nn.Linear"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        if d % H:
            raise ValueError(f"{d} is not divisible by {H}")
        self.dh = d // H
        self.q = nn.Linear(d, d, bias=False)
        self.k = nn.Linear(d, d, bias=False)
        self.vs = nn.ParameterList([nn.Parameter(nn.init.xavier_normal_(torch.empty(d, self.dh))) for _ in range(H)])
        self.out = nn.Linear(d, d)
        blocked = torch.ones(T_max, T_max).triu(1)
        self.register_buffer("penalty", blocked * -1e9)

    def forward(self, x):
        T = x.size(1)
        qs = self.q(x).split(self.dh, dim=-1)
        ks = self.k(x).split(self.dh, dim=-1)
        results = []
        for q, k, Wv in zip(qs, ks, self.vs):
            scores = torch.bmm(q, k.transpose(1, 2)) / self.dh ** 0.5 + self.penalty[:T, :T]
            results.append(torch.bmm(F.softmax(scores, -1), x @ Wv))
        return self.out(torch.cat(results, -1))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        hidden = 4 * d
        self.fc1 = nn.Linear(d, hidden)
        self.fc2 = nn.Linear(hidden, d)

    def forward(self, x):
        x = self.fc1(x)
        x = F.gelu(x)
        x = self.fc2(x)
        return x


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.norm_a = nn.LayerNorm(d)
        self.mha = MultiHeadAttention(d, H, T_max)
        self.norm_b = nn.LayerNorm(d)
        self.mlp = MLP(d)

    def forward(self, x):
        h = self.norm_a(x)
        h = self.mha(h)
        x = x + h
        h = self.norm_b(x)
        h = self.mlp(h)
        return x + h


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__()
        self.T_max, self.V = T_max, V
        self.tok = nn.Embedding(V, d)
        self.pos = nn.Embedding(T_max, d)
        self.register_buffer("places", torch.arange(T_max))
        self.blocks = nn.ModuleDict({f"block_{i}": Block(d, H, T_max) for i in range(L)})
        self.norm = nn.LayerNorm(d)
        self.unembed = nn.Linear(d, V, bias=False)
        if tie_weights:
            self.unembed.weight = self.tok.weight
            nn.init.normal_(self.tok.weight, 0, 0.03)
        with torch.no_grad():
            for blk in self.blocks.values():
                blk.mha.out.weight /= (2 * L) ** 0.5
                blk.mlp.fc2.weight /= (2 * L) ** 0.5

    def forward(self, idx, targets=None):
        T = idx.size(1)
        assert T <= self.T_max, f"T is {T} but T_max is {self.T_max}"
        x = self.tok(idx) + self.pos(self.places[:T])
        for name in self.blocks:
            x = self.blocks[name](x)
        logits = self.unembed(self.norm(x))
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, self.V), targets.flatten())
            return logits, loss
        return logits

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        context = idx.clone()
        for step in range(max_new_tokens):
            last = self.forward(context[:, -self.T_max :])[:, -1, :]
            probs = last.softmax(dim=1)
            new = torch.multinomial(probs, num_samples=1)
            context = torch.cat([context, new], dim=1)
        return context


@torch.no_grad()
def shape_table(model, idx):
    x = model.tok(idx) + model.pos(model.places[: idx.size(1)])
    table = [("embeddings", tuple(x.shape))]
    for n, block in enumerate(model.blocks.values()):
        x = block(x)
        table.append(("block " + str(n + 1), tuple(x.shape)))
    x = model.norm(x)
    table.append(("final LayerNorm", tuple(x.shape)))
    x = model.unembed(x)
    table.append(("logits", tuple(x.shape)))
    return table
