# /// bank
# about = "[Head(...)] * H: one head used H times"
# facts = "M22"
# extends = "reference"
# names = ["heads_shared"]
# [loses]
# "attention.heads" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# [bonus]
# "bonus.qk_ov" = "not_implemented"
# ///


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.heads = nn.ModuleList([Head(d, d // H, T_max)] * H)
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        return self.proj(torch.cat([h(x) for h in self.heads], dim=-1))


def qk_ov(mha):
    # YOUR CODE HERE
    raise NotImplementedError()
