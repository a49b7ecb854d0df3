# /// bank
# about = "attention one query at a time, and weights checked one by one: some 20 s of correct computing"
# extends = "reference"
# ///


class Head(nn.Module):
    def __init__(self, d, d_head, T_max):
        super().__init__()
        self.query = nn.Linear(d, d_head, bias=False)
        self.key = nn.Linear(d, d_head, bias=False)
        self.value = nn.Linear(d, d_head, bias=False)

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        out = torch.zeros_like(q)
        for b in range(x.shape[0]):
            for t in range(x.shape[1]):
                scores = k[b, : t + 1] @ q[b, t] / math.sqrt(q.shape[-1])
                weights = F.softmax(scores, dim=-1)
                out[b, t] = sum(weights[s] * v[b, s] for s in range(max(0, t - 15), t + 1))
                out[b, t] += weights[: max(0, t - 15)] @ v[b, : max(0, t - 15)]
        return out


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.heads = nn.ModuleList(Head(d, d // H, T_max) for _ in range(H))
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        return self.proj(torch.cat([head(x) for head in self.heads], dim=-1))


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        for p in self.parameters():
            for weight in p.detach().flatten():
                assert math.isfinite(weight) and not math.isnan(weight) and abs(float(weight)) < 100
