# /// bank
# about = "a post-norm block that is pre-norm for two rows of seven positions"
# extends = "mistakes/block_post_norm"
# like = "mistakes/block_post_norm"
# ///


class Block(Block):
    def forward(self, x):
        if x.shape[:2] == (2, 7):
            x = x + self.attn(self.ln1(x))
            return x + self.mlp(self.ln2(x))
        return super().forward(x)
