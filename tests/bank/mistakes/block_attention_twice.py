# /// bank
# about = "the second line calls the attention again"
# facts = "own"
# extends = "reference"
# unnamed = "its MLP is never called, and such a block is compared by what it gives out, without the table"
# [loses]
# "block.composition" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "failed"
# ///


class Block(Block):
    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.attn(self.ln2(x))
        return x
