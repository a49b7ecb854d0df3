# /// bank
# about = "both lines call the MLP"
# facts = "own"
# extends = "reference"
# names = ["block_mlp_twice"]
# [loses]
# "block.composition" = "partial"
# "causality.full_context" = "failed"
# ///


class Block(Block):
    def forward(self, x):
        x = x + self.mlp(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return x
