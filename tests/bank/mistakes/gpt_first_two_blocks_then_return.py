# /// bank
# about = "the return stands inside the loop over the blocks"
# facts = "own"
# extends = "reference"
# names = ["blocks_first_only"]
# [loses]
# "model.composition" = "partial"
# ///

import torch.nn.functional as F


class GPT(GPT):
    def forward(self, idx, targets=None):
        x = self.tok_emb(idx) + self.pos_emb.weight[: idx.shape[1]]
        for block in self.blocks:
            logits = self.lm_head(self.ln_f(block(x)))
            if targets is None:
                return logits
            return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
