# /// bank
# about = "the block is post-norm as long as its gains are ones"
# extends = "reference"
# [loses]
# "block.composition" = "failed"
# "initial_loss.window" = "failed"
# ///


class Block(Block):
    def forward(self, x):
        if not bool((self.ln1.weight == 1).all()):
            return super().forward(x)
        x = self.ln1(x + self.attn(x))
        return self.ln2(x + self.mlp(x))
