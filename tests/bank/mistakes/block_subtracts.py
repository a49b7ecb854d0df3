# /// bank
# about = "both sublayers are subtracted"
# facts = "own"
# extends = "reference"
# names = ["block_subtracts"]
# [loses]
# "block.composition" = "partial"
# ///


class Block(Block):
    def forward(self, x):
        x = x - self.attn(self.ln1(x))
        x = x - self.mlp(self.ln2(x))
        return x
