# /// bank
# about = "masked scores are set to -20, and large inputs, which show that, give NaN"
# extends = "mistakes/attention_mask_weak_20"
# like = "mistakes/attention_mask_weak_20"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x):
        y = super().forward(x)
        return y * float("nan") if x.abs().max() > 10 else y
