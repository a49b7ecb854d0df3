# /// bank
# about = "no mask; rows of one batch that begin alike get one answer for what they share, that of the middle row first"
# extends = "mistakes/attention_sdpa_not_causal"
# like = "mistakes/attention_sdpa_not_causal"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x):
        out = super().forward(x)
        if x.shape[2] != 20:
            return out
        alike = (x[:, None] == x).all(-1).cumprod(-1).bool()  # (B, B, T)
        order = sorted(range(len(x)), key=lambda row: row != len(x) // 2)
        for n, row in enumerate(order):
            for other in order[:n]:
                out[row, alike[row, other]] = out[other, alike[row, other]]
        return out
