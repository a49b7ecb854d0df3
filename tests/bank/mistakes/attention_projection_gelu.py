# /// bank
# about = "a GELU after the output projection"
# facts = "own"
# extends = "reference"
# names = ["projection_gelu"]
# [loses]
# "attention.formula" = "partial"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x):
        joined = torch.cat([h(x) for h in self.heads], dim=-1)
        return F.gelu(self.proj(joined))
