# /// bank
# about = "every position gets the row number T - 1"
# facts = "own"
# extends = "reference"
# names = ["positions_constant"]
# [loses]
# "model.composition" = "partial"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"T={T} is larger than T_max={self.T_max}"
        place = torch.full_like(idx, T - 1)
        x = self.tok_emb(idx) + self.pos_emb(place)
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
