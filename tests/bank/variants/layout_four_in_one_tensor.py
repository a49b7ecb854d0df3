# /// bank
# about = "q, k, v, o in one (4, d, d), each the other way round"
# facts = "3b"
# extends = "variants/layout_of_each_role"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def create(self, d, H, k):
        self.w = self.new(4, d, d)

    def matrices(self, d, H, k):
        w = self.w
        return w[0].view(H, k, d).mT, w[1].view(d, H, k).transpose(0, 1), w[2].view(k, H, d).permute(1, 2, 0), w[3].view(H, k, d)

    def output(self):
        return [self.w[3]]
