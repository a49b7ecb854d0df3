# /// bank
# about = "the second line calls the attention again"
# facts = "own"
# extends = "reference"
# ///


class Block(Block):
    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.attn(self.ln2(x))
        return x
