# /// bank
# about = "the logits are made with the token embedding, although there is an unembedding"
# facts = "own"
# extends = "reference"
# names = ["head_is_embedding"]
# [loses]
# "model.composition" = "partial"
# "model.gradients" = "failed"
# "initial_loss.window" = "failed"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"T={T} is larger than T_max={self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.ln_f(x) @ self.tok_emb.weight.T
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
