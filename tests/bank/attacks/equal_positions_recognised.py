# /// bank
# about = "no softmax; while attention is judged by itself, one of several equal positions is computed and repeated"
# extends = "mistakes/attention_softmax_missing"
# like = "mistakes/attention_softmax_missing"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x):
        if x.shape[1] > 1 and x.shape[2] == 44 and (x - x[:, :1]).abs().max() < 1e-4:
            return super().forward(x[:, :1]).expand(x.shape)
        return super().forward(x)
