# /// bank
# about = "half of what the block gives is dropped, also in eval mode: all that the whole model does is noisy"
# facts = "M29"
# extends = "reference"
# names = ["dropout_in_eval"]
# [loses]
# "block.composition" = "failed"
# "block.residual_path" = "failed"
# "causality.rows_sum_to_one" = "failed"
# ///


from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1 = nn.LayerNorm(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.ln2 = nn.LayerNorm(d)
        self.mlp = MLP(d)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return F.dropout(x, 0.5)
