# /// bank
# about = "q and v by nn.Conv1d, k by nn.Linear, o (d, H, d_head)"
# facts = "3b"
# extends = "variants/layout_of_each_role"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def create(self, d, H, k):
        self.q = nn.Conv1d(d, d, 1, bias=False)
        self.k_ = self.linear(d, d)
        self.v = nn.Conv1d(d, d, 1, bias=False)
        self.o = self.new(d, H, k)

    def matrices(self, d, H, k):
        return self.q.weight.view(H, k, d).mT, self.k_.weight.view(H, k, d).mT, self.v.weight.view(k, H, d).permute(1, 2, 0), self.o.permute(1, 2, 0)

    def output(self):
        return [self.o]
