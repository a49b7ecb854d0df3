# /// bank
# about = "in training the logits are those of the targets, whatever the model computes"
# extends = "reference"
# [loses]
# "model.training" = "failed"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        if targets is not None and self.training:
            logits = super().forward(idx)
            logits = logits * 1e-3 + 20 * F.one_hot(targets, logits.shape[-1])
            return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return super().forward(idx, targets)
