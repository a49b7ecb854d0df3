# /// bank
# about = "x is overwritten by its normed copy before the MLP"
# facts = "own"
# extends = "reference"
# names = ["block_second_residual_from_norm"]
# [loses]
# "block.composition" = "partial"
# "block.residual_path" = "failed"
# ///


class Block(Block):
    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        normed = self.ln2(x)
        return normed + self.mlp(normed)
