# /// bank
# about = "the MLP is computed, and the attention of the second norm added in its place"
# facts = "own"
# extends = "reference"
# names = ["block_attention_twice"]
# [loses]
# "block.composition" = "partial"
# ///


class Block(Block):
    def forward(self, x):
        a = self.attn(self.ln1(x))
        x = x + a
        m = self.mlp(self.ln2(x))
        a = self.attn(self.ln2(x))
        return x + a
