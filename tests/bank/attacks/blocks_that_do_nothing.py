# /// bank
# about = "Block passes x on and GPT never calls it: there is nothing to compare around stand-ins"
# facts = "20"
# extends = "reference"
# names = ["blocks_unused"]
# [loses]
# "block.composition" = "failed"
# "block.residual_path" = "failed"
# "model.composition" = "partial"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "failed"
# "causality.full_context" = "failed"
# ///


class Block(Block):
    def forward(self, x):
        return x


class GPT(GPT):
    def forward(self, idx, targets=None):
        places = torch.arange(idx.shape[1])
        logits = self.lm_head(self.ln_f(self.tok_emb(idx) + self.pos_emb(places)))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
