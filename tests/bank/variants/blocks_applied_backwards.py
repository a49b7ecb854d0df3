# /// bank
# about = "the blocks are applied from the last in the list to the first: which one is first is a matter of names"
# extends = "reference"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        assert idx.shape[1] <= self.T_max, f"{idx.shape[1]} tokens, but T_max={self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(idx.shape[1]))
        for block in reversed(self.blocks):
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
