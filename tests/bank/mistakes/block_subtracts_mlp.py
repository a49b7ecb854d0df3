# /// bank
# about = "what the MLP gives is subtracted"
# facts = "own"
# extends = "reference"
# names = ["block_subtracts"]
# [loses]
# "block.composition" = "partial"
# ///


class Block(Block):
    def forward(self, x):
        y = x + self.attn(self.ln1(x))
        z = y - self.mlp(self.ln2(y))
        return z
