# /// bank
# about = "logits in float64 whose differences overflow, where the influence picture is drawn"
# facts = "19"
# extends = "reference"
# like = "reference"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):

        out = super().forward(idx, targets)
        if targets is None and idx.shape == (17, 16):
            return out.double().sign() * 1.7e308
        return out
