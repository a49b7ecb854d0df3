# /// bank
# about = "the last place is T_max - 1, so there are T_max - 1 rows, and clamp keeps to them"
# facts = "own"
# extends = "reference"
# also = ["position_row_missing"]
# [loses]
# "model.composition" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.pos_emb = nn.Embedding(T_max - 1, d)

    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"T={T} is larger than T_max={self.T_max}"
        places = torch.arange(T, device=idx.device).clamp(max=self.T_max - 2)
        x = self.tok_emb(idx) + self.pos_emb(places)
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
