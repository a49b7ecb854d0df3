# /// bank
# about = "the residual connection adds the output to itself"
# facts = "own"
# extends = "reference"
# names = ["block_adds_output_twice"]
# [loses]
# "block.composition" = "partial"
# "block.residual_path" = "failed"
# ///



class Block(Block):
    def forward(self, x):
        x = self.attn(self.ln1(x))
        x = x + x
        return x + self.mlp(self.ln2(x))
