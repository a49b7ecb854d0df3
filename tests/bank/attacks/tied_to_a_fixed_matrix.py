# /// bank
# about = "with tie_weights=True the unembedding is a fixed matrix that is no parameter"
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
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(idx.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.ln_f(x) @ torch.ones(self.tok_emb.weight.T.shape) * 1e-3
        return logits if targets is None else (logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten()))
