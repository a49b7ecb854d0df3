# /// bank
# about = "nn.MultiheadAttention with a causal mask: its queries, keys and values have biases"
# facts = "M25"
# extends = "reference"
# names = ["qkv_biases"]
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
        self.mha = nn.MultiheadAttention(d, H, batch_first=True)
        self.register_buffer("mask", torch.triu(torch.ones(T_max, T_max, dtype=torch.bool), diagonal=1))

    @property
    def proj(self):
        return self.mha.out_proj

    def forward(self, x):
        T = x.shape[1]
        out, _ = self.mha(x, x, x, attn_mask=self.mask[:T, :T], need_weights=False)
        return out
