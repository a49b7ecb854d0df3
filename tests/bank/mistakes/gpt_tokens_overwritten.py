# /// bank
# about = "x is overwritten by the positions, so the tokens are lost"
# facts = "own"
# extends = "reference"
# names = ["tokens_unused"]
# [loses]
# "model.composition" = "partial"
# "model.gradients" = "failed"
# "causality.full_context" = "failed"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"T={T} is larger than T_max={self.T_max}"
        x = self.tok_emb(idx)
        x = self.pos_emb(torch.arange(T, device=idx.device)).expand_as(x)
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
