# /// bank
# about = "no softmax; while attention is judged by itself, positions that differ by less than 0.1 are taken for equal"
# extends = "mistakes/attention_softmax_missing"
# like = "mistakes/attention_softmax_missing"
# names = []
# [loses]
# "attention.formula" = "failed"
# "attention.heads" = "failed"
# "attention.rows_sum_to_one" = "passed"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x):
        if x.shape[1] > 1 and x.shape[2] == 44 and (x - x[:, :1]).abs().max() < 0.1:
            return super().forward(x[:, :1]).expand(x.shape)
        return super().forward(x)
