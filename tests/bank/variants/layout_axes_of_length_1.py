# /// bank
# about = "axes of length 1 in every tensor"
# facts = "3b"
# extends = "variants/layout_of_each_role"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def create(self, d, H, k):
        self.q = self.new(1, d, d)
        self.k_ = self.new(H, 1, d, k)
        self.v = self.new(1, H, k, d)
        self.o = self.new(d, 1, d)

    def matrices(self, d, H, k):
        return self.q[0].view(d, H, k).transpose(0, 1), self.k_[:, 0], self.v[0].mT, self.o[:, 0].view(H, k, d)

    def output(self):
        return [self.o]
