# /// bank
# about = "prints at import, device at module level, training below the guard; einsum for the class axis"
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


class LayerNorm(nn.Module):
    """ LayerNorm with an optional bias """
    def __init__(self, ndim, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(ndim))
        self.bias = nn.Parameter(torch.zeros(ndim)) if bias else None

    def forward(self, input):
        return F.layer_norm(input, self.weight.shape, self.weight, self.bias, 1e-5)


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H = H
        self.vkq = nn.Linear(d, 3 * d, bias=False)
        self.out = nn.Linear(d, d)
        self.register_buffer("neg", torch.triu(torch.full((T_max, T_max), -1e9), diagonal=1))

    def forward(self, x):
        B, T, d = x.shape
        H, e = self.H, d // self.H
        v, k, q = (t.view(B, T, H, e).transpose(1, 2).reshape(B * H, T, e) for t in self.vkq(x).split(d, -1))
        scores = torch.baddbmm(self.neg[:T, :T].expand(B * H, T, T).to(q.dtype), q, k.transpose(1, 2), alpha=e ** -0.5)
        y = torch.bmm(torch.softmax(scores, -1), v)
        return self.out(y.view(B, H, T, e).transpose(1, 2).reshape(B, T, d))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        return self.net(x)


class Block(nn.Module):
    def __init__(self, d, H, T_max, p: float = 0.0, norm_first: bool = True):
        super().__init__()
        self.p, self.norm_first = p, norm_first
        self.ff = MLP(d)
        self.n2 = LayerNorm(d)
        self.n1 = LayerNorm(d)
        self.att = MultiHeadAttention(d, H, T_max)

    def residual(self, x, f, norm):
        branch = f(norm(x))
        return x + F.dropout(branch, self.p, self.training)

    def forward(self, x):
        return self.residual(self.residual(x, self.att, self.n1), self.ff, self.n2)


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        self.tok_emb = nn.Embedding(V, d)
        self.pos_emb = nn.Embedding(T_max, d)
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.ln_f = LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        with torch.no_grad():
            for block in self.blocks:
                for weight in [block.att.out.weight, block.ff.net[2].weight]:
                    weight /= math.sqrt(2 * L)

    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"sequence of {T} tokens, but T_max is {self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        loss = F.cross_entropy(torch.einsum("btv->bvt", logits), targets)
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])[:, -1, :]
            idx = torch.cat([idx, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)], dim=1)
        return idx


@torch.no_grad()
def shape_table(model, idx):
    x = model.tok_emb(idx) + model.pos_emb(torch.arange(idx.shape[1], device=idx.device))
    table = [("embeddings", tuple(x.shape))]
    for i, block in enumerate(model.blocks):
        x = block(x)
        table.append((f"block {i + 1}", tuple(x.shape)))
    x = model.ln_f(x)
    table.append(("final LayerNorm", tuple(x.shape)))
    table.append(("logits", tuple(model.lm_head(x).shape)))
    return table


print("gpt.py imported")
device = "cuda" if torch.cuda.is_available() else "cpu"
print(f"device: {device}")

if __name__ == "__main__":
    torch.manual_seed(1337)
    text = open("input.txt", encoding="utf-8").read()
    chars = sorted(set(text))
    data = torch.tensor([chars.index(c) for c in text])
    model = GPT(len(chars), 64, 128, 4, 4).to(device)
    print(sum(p.numel() for p in model.parameters()), "parameters")
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for step in range(5000):
        start = torch.randint(len(data) - 65, (32,))
        batch = torch.stack([data[s : s + 65] for s in start]).to(device)
        _, loss = model(batch[:, :-1], batch[:, 1:])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 500 == 0:
            print(step, loss.item())
    print("".join(chars[i] for i in model.generate(torch.zeros((1, 1), dtype=torch.long, device=device), 500)[0]))
