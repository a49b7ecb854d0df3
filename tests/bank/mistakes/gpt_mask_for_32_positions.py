# /// bank
# about = "the mask covers 32 positions; beyond them every position sees the future"
# extends = "reference"
# unnamed = "the class is right at the sizes at which it is compared"
# [loses]
# "causality.full_model" = "failed"
# "model.composition" = "failed"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x):
        B, T, d = x.shape
        if T <= 32:
            return super().forward(x)
        heads = []
        for head in self.heads:
            q, k, v = head.query(x), head.key(x), head.value(x)
            scores = q @ k.mT / math.sqrt(k.shape[-1])
            scores[:, :32, :32] = scores[:, :32, :32].masked_fill(~torch.tril(torch.ones(32, 32)).bool(), -1e9)
            heads.append(torch.softmax(scores, -1) @ v)
        return self.proj(torch.cat(heads, -1))
