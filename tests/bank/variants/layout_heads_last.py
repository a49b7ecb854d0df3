# /// bank
# about = "heads last in all but v"
# facts = "3b"
# extends = "variants/layout_of_each_role"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def create(self, d, H, k):
        self.q = self.new(d, k, H)
        self.k_ = self.new(k, d, H)
        self.v = self.new(k, H, d)
        self.o = self.new(k, d, H)

    def matrices(self, d, H, k):
        return self.q.permute(2, 0, 1), self.k_.permute(2, 1, 0), self.v.permute(1, 2, 0), self.o.permute(2, 0, 1)

    def output(self):
        return [self.o]
