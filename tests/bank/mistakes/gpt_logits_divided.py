# /// bank
# about = "the logits are divided by sqrt(d)"
# facts = "own"
# extends = "reference"
# names = ["logits_scaled"]
# [loses]
# "model.composition" = "partial"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"T={T} is larger than T_max={self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x)) / x.shape[-1] ** 0.5
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
