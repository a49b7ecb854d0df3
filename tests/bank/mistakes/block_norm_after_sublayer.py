# /// bank
# about = "the norms are applied to what the sublayers give"
# facts = "own"
# extends = "reference"
# ///


class Block(Block):
    def forward(self, x):
        x = x + self.ln1(self.attn(x))
        x = x + self.ln2(self.mlp(x))
        return x
