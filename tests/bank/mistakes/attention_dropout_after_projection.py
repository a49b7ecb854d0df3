# /// bank
# about = "F.dropout on what the projection gives, also in eval mode"
# facts = "M29"
# extends = "reference"
# names = ["dropout_in_eval"]
# [loses]
# "attention.formula" = "failed"
# "attention.heads" = "failed"
# "attention.rows_sum_to_one" = "failed"
# "causality.rows_sum_to_one" = "failed"
# [bonus]
# "bonus.qk_ov" = "failed"
# ///


from torch.nn import functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.heads = nn.ModuleList([Head(d, d // H, T_max) for _ in range(H)])
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        out = torch.cat([head(x) for head in self.heads], dim=-1)
        return F.dropout(self.proj(out), 0.3)
