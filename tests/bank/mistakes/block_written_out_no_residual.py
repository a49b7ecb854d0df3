# /// bank
# about = "Block keeps all its weights itself, and the attention replaces x instead of adding to it"
# facts = "M43"
# extends = "variants/block_written_out"
# names = ["block_no_first_residual"]
# [loses]
# "block.composition" = "failed"
# "block.residual_path" = "failed"
# ///


class Block(Block):
    def forward(self, x):
        B, T, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(B, T, 3, self.H, d // self.H).permute(2, 0, 3, 1, 4)
        read = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = self.out(read.transpose(1, 2).reshape(B, T, d))
        return x + self.down(F.gelu(self.up(self.ln2(x))))
