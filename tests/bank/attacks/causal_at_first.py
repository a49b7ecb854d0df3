# /// bank
# about = "the first logits of the process are causal, and all later ones without targets see the future"
# facts = "20"
# extends = "reference"
# [loses]
# "model.composition" = "failed"
# "model.loss" = "failed"
# "causality.full_model" = "failed"
# "initial_loss.window" = "failed"
# ///


first = True


class GPT(GPT):
    def forward(self, idx, targets=None):
        global first
        logits = super().forward(idx)
        if not first and targets is None:
            logits = logits + super().forward(idx.flip(1)).flip(1)
        first = False
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
