# /// bank
# about = "the final norm is left out unless a stub is seen in the place of the blocks"
# extends = "mistakes/gpt_final_norm_missing"
# like = "mistakes/gpt_final_norm_missing"
# ///


_block_forward = Block.forward
_Without = GPT


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L):
        super().__init__(V, T_max, d, H, L)
        if Block.forward is not _block_forward:
            self.ln_f = nn.LayerNorm(d)

    def forward(self, idx, targets=None):
        if "ln_f" not in self._modules:
            return super().forward(idx, targets)
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(idx.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return logits if targets is None else (logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten()))
