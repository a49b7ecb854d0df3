# /// bank
# about = "causal in float64, in which values are compared first, but not in float32, in which a model runs"
# extends = "mistakes/attention_sdpa_not_causal"
# like = "mistakes/attention_sdpa_not_causal"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x):
        if x.dtype is not torch.float64:
            return super().forward(x)
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.H, C // self.H).transpose(1, 2) for t in self.c_attn(x).split(C, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(B, T, C))
