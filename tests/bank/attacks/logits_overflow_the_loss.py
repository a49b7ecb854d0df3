# /// bank
# about = "logits in float64 near the largest number where the initial loss is measured, so that it is infinite"
# facts = "19"
# extends = "reference"
# [loses]
# "initial_loss.window" = "failed"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        out = super().forward(idx, targets)
        if targets is None and idx.shape == (5, 64):
            return out.double() * 1e307
        return out
