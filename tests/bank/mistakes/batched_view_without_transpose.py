# /// bank
# about = "view(B, H, T, d_head) straight from (B, T, d): tokens and heads are mixed up"
# facts = "bonus"
# extends = "reference"
# also = ["split_without_transpose", "merge_without_transpose"]
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "failed"
# "bonus.qk_ov" = "passed"
# ///


class BatchedMultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H = H
        self.query = nn.Linear(d, d, bias=False)
        self.key = nn.Linear(d, d, bias=False)
        self.value = nn.Linear(d, d, bias=False)
        self.proj = nn.Linear(d, d)
        self.register_buffer("mask", torch.tril(torch.ones(T_max, T_max)))

    def forward(self, x):
        B, T, d = x.shape
        q = self.query(x).view(B, self.H, T, d // self.H)
        k = self.key(x).view(B, self.H, T, d // self.H)
        v = self.value(x).view(B, self.H, T, d // self.H)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.H)
        scores = scores.masked_fill(self.mask[:T, :T] == 0, float("-inf"))
        out = F.softmax(scores, dim=-1) @ v
        return self.proj(out.view(B, T, d))
