# /// bank
# about = "forward ends after the attention"
# facts = "own"
# extends = "reference"
# names = ["block_no_mlp"]
# [loses]
# "block.composition" = "partial"
# ///


class Block(Block):
    def forward(self, x):
        return x + self.attn(self.ln1(x))
