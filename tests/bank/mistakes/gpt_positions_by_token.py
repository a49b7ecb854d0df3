# /// bank
# about = "the position table is indexed with the tokens (clamped, so that it never fails)"
# facts = "M60"
# extends = "reference"
# names = ["positions_by_token"]
# [loses]
# "model.composition" = "partial"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"T={T} is larger than T_max={self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb(idx.clamp(max=self.T_max - 1))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
