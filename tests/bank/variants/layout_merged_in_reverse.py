# /// bank
# about = "heads innermost in q and k, merged from the last to the first"
# facts = "3b"
# extends = "variants/layout_of_each_role"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def create(self, d, H, k):
        self.q = self.linear(d, d)
        self.k_ = self.linear(d, d)
        self.v = self.new(d, d)
        self.o = self.linear(d, d)

    def matrices(self, d, H, k):
        return self.q.weight.view(k, H, d).permute(1, 2, 0), self.k_.weight.view(k, H, d).permute(1, 2, 0), self.v.view(d, H, k).transpose(0, 1), self.o.weight.T.reshape(H, k, d).flip(0)

    def output(self):
        return [self.o.weight]
