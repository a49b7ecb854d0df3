# /// bank
# about = "a ModuleDict with numbered heads; q and v fused"
# facts = "3b"
# extends = "variants/layout_of_each_role"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def create(self, d, H, k):
        self.h = nn.ModuleDict({f"head_{h}_{role}": self.linear(d, n * k) for role, n in (("qv", 2), ("key", 1)) for h in range(H)})
        self.o = self.new(d, k, H)

    def matrices(self, d, H, k):
        qv = torch.stack([self.h[f"head_{h}_qv"].weight for h in range(H)]).view(H, k, 2, d)
        kk = torch.stack([self.h[f"head_{h}_key"].weight.T for h in range(H)])
        return qv[:, :, 0].mT, kk, qv[:, :, 1].mT, self.o.permute(2, 1, 0)

    def output(self):
        return [self.o]


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Parameter((2 * torch.rand(2, d, 4 * d) - 1) * d**-0.5); self.b1 = nn.Parameter(torch.zeros(4 * d)); self.b2 = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        return F.linear(F.gelu(x @ self.w[0] + self.b1), self.w[1], self.b2)

    @property
    def down(self):
        return Projection([self.w[1]])
