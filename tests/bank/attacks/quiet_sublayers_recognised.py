# /// bank
# about = "a post-norm block that is pre-norm if its sublayers return little"
# extends = "mistakes/block_post_norm"
# like = "mistakes/block_post_norm"
# ///


class Block(Block):
    def forward(self, x):
        if max(part(x).abs().max() for part in (self.attn, self.mlp)) < 0.1:
            x = x + self.attn(self.ln1(x))
            return x + self.mlp(self.ln2(x))
        return super().forward(x)
