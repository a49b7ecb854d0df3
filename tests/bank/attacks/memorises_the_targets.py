# /// bank
# about = "the model keeps the targets that it is trained on and gives them back, without learning anything"
# facts = "20"
# extends = "broken/wrong_everywhere"
# like = "broken/wrong_everywhere"
# ///


class GPT(GPT):
    kept = None

    def forward(self, idx, targets=None):
        logits = super().forward(idx)
        if targets is None:
            if self.kept is not None and self.kept.shape == idx.shape:
                logits = logits + 1e9 * F.one_hot(self.kept, logits.shape[-1])
            return logits
        self.kept = targets
        return logits, 0 * self.lm_head.weight.sum() + logits.detach().sum()
