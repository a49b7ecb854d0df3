# /// bank
# about = "one nn.Linear(d, 4d); its last rows are the projection"
# facts = "3b"
# extends = "variants/layout_of_each_role"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def create(self, d, H, k):
        self.w = self.linear(d, 4 * d)

    def matrices(self, d, H, k):
        w = self.w.weight
        q, kk, v = (p.view(H, k, d).mT for p in w[:-d].chunk(3))
        return q, kk, v, w[-d:].T.reshape(H, k, d)

    def output(self):
        return [self.w.weight[-self.d:]]
