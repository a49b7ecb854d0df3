# /// bank
# about = "Block: the MLP gets the attention's output alone"
# facts = "own"
# extends = "reference"
# names = ["block_mlp_without_stream"]
# [loses]
# "block.composition" = "partial"
# ///


class Block(Block):
    def forward(self, x):
        attended = self.attn(self.ln1(x))
        x = x + attended
        return x + self.mlp(self.ln2(attended))
