# /// bank
# about = "every block is given the embeddings: only the last block counts"
# facts = "M54"
# extends = "reference"
# names = ["blocks_all_get_embeddings"]
# [loses]
# "model.composition" = "partial"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"T={T} is larger than T_max={self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
        for block in self.blocks:
            out = block(x)
        logits = self.lm_head(self.ln_f(out))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
