# /// bank
# about = "attention from q, k, v (H, d, d_head) and o (H, d_head, d), stored in a ParameterDict, each in another order"
# facts = "3b"
# extends = "reference"
# ///


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.d, self.H, self.k = d, H, d // H
        self.create(d, H, d // H)
        self.bias = nn.Parameter(torch.zeros(d))

    def new(self, *shape):
        return nn.Parameter(torch.empty(*shape).uniform_(-1, 1) * self.d**-0.5)

    def linear(self, d, width):
        return nn.Linear(d, width, bias=False)

    def forward(self, x):
        q, k, v, o = self.matrices(self.d, self.H, self.k)
        q, k, v = (torch.einsum("btd,hdk->bhtk", x, w) for w in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return torch.einsum("bhtk,hkd->btd", y, o) + self.bias

    @property
    def proj(self):
        return Projection(self.output())


class Projection:
    def __init__(self, tensors):
        self.weight, self.tensors = self, tensors

    def mul_(self, factor):
        for tensor in self.tensors:
            tensor.mul_(factor)


def qk_ov(mha):
    q, k, v, o = mha.matrices(mha.d, mha.H, mha.k)
    return [(q[h] @ k[h].T, v[h] @ o[h]) for h in range(mha.H)]


class MultiHeadAttention(MultiHeadAttention):
    def create(self, d, H, k):
        self.w = nn.ParameterDict({"q": self.new(H, k, d), "k": self.new(d, H, k), "v": self.new(d, k, H), "o": self.new(H, d, k)})

    def matrices(self, d, H, k):
        w = self.w
        return w["q"].mT, w["k"].transpose(0, 1), w["v"].permute(2, 0, 1), w["o"].mT

    def output(self):
        return [self.w["o"]]
