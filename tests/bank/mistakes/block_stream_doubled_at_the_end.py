# /// bank
# about = "x += x + MLP(...): the stream is counted twice"
# facts = "own"
# extends = "reference"
# names = ["block_residual_doubled"]
# [loses]
# "block.composition" = "partial"
# "block.residual_path" = "failed"
# ///


class Block(Block):
    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + (x + self.mlp(self.ln2(x)))
