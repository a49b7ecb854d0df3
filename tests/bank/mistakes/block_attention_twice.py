# /// bank
# about = "the second line calls the attention again"
# facts = "own"
# extends = "reference"
# names = ["block_attention_twice"]
# [loses]
# "block.composition" = "partial"
# ///


class Block(Block):
    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.attn(self.ln2(x))
        return x
