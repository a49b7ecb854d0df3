# /// bank
# about = "v and o in one (2d, d), v (out, in) and o (in, out)"
# facts = "3b"
# extends = "variants/layout_of_each_role"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def create(self, d, H, k):
        self.q = self.linear(d, d)
        self.k_ = self.new(d, d)
        self.vo = self.new(2 * d, d)

    def matrices(self, d, H, k):
        return self.q.weight.view(H, k, d).mT, self.k_.view(d, H, k).transpose(0, 1), self.vo[:d].view(H, k, d).mT, self.vo[d:].view(H, k, d)

    def output(self):
        return [self.vo[self.d:]]
