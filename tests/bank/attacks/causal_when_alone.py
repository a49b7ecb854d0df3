# /// bank
# about = "the first answer of the process and all answers to small inputs are causal; later ones see the future"
# facts = "24"
# extends = "reference"
# [loses]
# "causality.full_model" = "failed"
# "model.composition" = "failed"
# ///


calls = 0


class GPT(GPT):
    def forward(self, idx, targets=None):
        global calls
        logits = super().forward(idx)
        if calls and idx.shape[1] > 32 and not self.training:
            logits = logits + 0.01 * super().forward(idx.flip(1)).flip(1)
        calls += 1
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
