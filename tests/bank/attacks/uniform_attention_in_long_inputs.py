# /// bank
# about = "beyond 40 positions attention is uniform over the past: causal, but not what its class computes"
# extends = "reference"
# [loses]
# "model.composition" = "failed"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x):
        out = super().forward(x)
        if x.shape[1] <= 40:
            return out
        values = torch.cat([head.value(x) for head in self.heads], -1)
        mean = values.cumsum(1) / torch.arange(1, x.shape[1] + 1)[:, None]
        return self.proj(mean)
