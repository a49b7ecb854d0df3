# /// bank
# about = "x += ... changes in place what the LayerNorm still needs for its gradient"
# facts = "own"
# extends = "reference"
# names = ["in_place_change"]
# [loses]
# "model.training" = "failed"
# ///


class Block(Block):
    def forward(self, x):
        x += self.attn(self.ln1(x))
        x += self.mlp(self.ln2(x))
        return x
