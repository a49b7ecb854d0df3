# /// bank
# about = "with targets only the loss is returned"
# facts = "M66"
# extends = "reference"
# names = ["logits_not_returned"]
# [loses]
# "model.loss" = "failed"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"T={T} is larger than T_max={self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is not None:
            return F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits
