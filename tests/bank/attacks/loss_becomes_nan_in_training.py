# /// bank
# about = "the loss in training is NaN from the second step on"
# facts = "19"
# extends = "reference"
# [loses]
# "model.training" = "failed"
# ///


class GPT(GPT):
    steps = 0

    def forward(self, idx, targets=None):
        if targets is None:
            return super().forward(idx)
        logits, loss = super().forward(idx, targets)
        if self.training:
            self.steps += 1
            if self.steps > 1:
                loss = loss * float("nan")
        return logits, loss
