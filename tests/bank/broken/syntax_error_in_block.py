# /// bank
# about = "a bracket is missing inside Block, so gpt.py does not parse"
# extends = "reference"
# [loses]
# "block.composition" = "failed"
# "block.residual_path" = "failed"
# "parameters.total" = "blocked"
# "parameters.other_sizes" = "blocked"
# "parameters.by_part" = "blocked"
# "causality.full_model" = "blocked"
# "causality.full_context" = "blocked"
# "causality.batch_independence" = "blocked"
# "causality.rows_sum_to_one" = "blocked"
# ///


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1, self.attn = nn.LayerNorm(d), MultiHeadAttention(d, H, T_max)
        self.ln2, self.mlp = nn.LayerNorm(d), MLP(d)

    def forward(self, x):
        x = x + self.attn(self.ln1(x)
        x = x + self.mlp(self.ln2(x))
        return x
