# /// bank
# about = "the loop keeps the results of the blocks in a name that nothing reads"
# facts = "own"
# extends = "reference"
# names = ["blocks_unused"]
# [loses]
# "model.composition" = "partial"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "failed"
# "causality.full_context" = "failed"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"T={T} is larger than T_max={self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
        for block in self.blocks:
            out = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
