# /// bank
# about = "the weights meet the input itself, split into heads; there is no value matrix"
# facts = "own"
# extends = "reference"
# names = ["value_is_input"]
# [loses]
# "attention.formula" = "partial"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# [bonus]
# "bonus.qk_ov" = "failed"
# ///


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H = H
        self.q = nn.Linear(d, d, bias=False)
        self.k = nn.Linear(d, d, bias=False)
        self.proj = nn.Linear(d, d)
        self.register_buffer("mask", torch.tril(torch.ones(T_max, T_max, dtype=torch.bool)))

    def split(self, x):
        B, T, d = x.shape
        return x.view(B, T, self.H, d // self.H).transpose(1, 2)

    def forward(self, x):
        B, T, d = x.shape
        q, k = self.split(self.q(x)), self.split(self.k(x))
        scores = q @ k.mT / math.sqrt(d // self.H)
        weights = scores.masked_fill(~self.mask[:T, :T], -math.inf).softmax(-1)
        found = weights @ self.split(x)
        return self.proj(found.transpose(1, 2).reshape(B, T, d))
