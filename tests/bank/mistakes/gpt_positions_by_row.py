# /// bank
# about = "positions are counted along the batch axis"
# facts = "M56"
# extends = "reference"
# names = ["positions_by_batch_row"]
# also = ["index_out_of_range"]
# [loses]
# "model.composition" = "partial"
# "generation.sampling" = "failed"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"T={T} is larger than T_max={self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(B, device=idx.device))[:, None]
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
