# /// bank
# about = "with tie_weights=True the table is the unembedding, and tokens are not looked up in it"
# facts = "20"
# extends = "reference"
# [bonus]
# "bonus.weight_tying" = "failed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.tied = tie_weights
        if tie_weights:
            self.lm_head = None

    def forward(self, idx, targets=None):
        if not self.tied:
            return super().forward(idx, targets)
        x = self.pos_emb(torch.arange(idx.shape[1])) + (idx[..., None] / 50 - 1)
        for block in self.blocks:
            x = block(x)
        logits = self.ln_f(x) @ self.tok_emb.weight.T
        return logits if targets is None else (logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten()))
