# /// bank
# about = "the mean log probability of the targets, without the minus"
# facts = "own"
# extends = "reference"
# names = ["loss_negated"]
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
        log_probs = F.log_softmax(logits, dim=-1)
        picked = log_probs.gather(-1, targets.unsqueeze(-1))
        return logits, picked.mean()
