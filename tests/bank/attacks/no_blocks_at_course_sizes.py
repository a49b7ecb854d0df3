# /// bank
# about = "at the width of the course no block is called: bigrams and a trace of the past replace them"
# extends = "reference"
# [loses]
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "failed"
# "causality.full_context" = "failed"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        if self.tok_emb.weight.shape[1] < 100:
            return super().forward(idx, targets)
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(idx.shape[1]))
        logits = self.lm_head(self.ln_f(x + 1e-2 * x.cumsum(1)))
        return logits if targets is None else (logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten()))
