# /// bank
# about = "x += x + MLP(...): the stream is counted twice"
# facts = "own"
# extends = "reference"
# names = ["block_stream_doubled"]
# [loses]
# "block.composition" = "partial"
# "block.identity" = "failed"
# ///


class Block(Block):
    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + (x + self.mlp(self.ln2(x)))
