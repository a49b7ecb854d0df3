# /// bank
# about = "a ModuleDict in each head, with its slice of the projection"
# facts = "3b"
# extends = "variants/layout_of_each_role"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def create(self, d, H, k):
        self.heads = nn.ModuleList([nn.ModuleDict({"q": self.linear(d, k), "k": self.linear(d, k), "v": self.linear(d, k), "o": self.linear(k, d)}) for _ in range(H)])

    def matrices(self, d, H, k):
        q, kk, v, o = (torch.stack([h[role].weight.T for h in self.heads]) for role in "qkvo")
        return q, kk, v, o

    def output(self):
        return [h["o"].weight for h in self.heads]


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Parameter((2 * torch.rand(8 * d, d) - 1) * d**-0.5); self.b = nn.Parameter(torch.zeros(4 * d)); self.c = nn.Parameter(torch.zeros(1, 1, d)); self.d = d

    def forward(self, x):
        return F.gelu(F.linear(x, self.w[:4 * self.d], self.b)) @ self.w[4 * self.d:] + self.c

    @property
    def down(self):
        return Projection([self.w[4 * self.d:]])
