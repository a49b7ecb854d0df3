# /// bank
# about = "the projection is applied where the heads are joined, and once more at the end"
# facts = "own"
# extends = "reference"
# names = ["projection_twice"]
# [loses]
# "attention.formula" = "partial"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x):
        out = []
        for head in self.heads:
            out.append(head(x))
        out = self.proj(torch.cat(out, dim=-1))
        return self.proj(out)
