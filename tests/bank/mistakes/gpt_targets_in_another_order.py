# /// bank
# about = "targets are transposed before they are flattened"
# facts = "M70"
# extends = "reference"
# names = ["targets_reordered"]
# [loses]
# "model.loss" = "failed"
# "model.training" = "failed"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"T={T} is larger than T_max={self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.reshape(B * T, -1), targets.T.reshape(B * T))
