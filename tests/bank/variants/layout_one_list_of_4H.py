# /// bank
# about = "one list of 4H matrices (d_head, d), head by head"
# facts = "3b"
# extends = "variants/layout_of_each_role"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def create(self, d, H, k):
        self.ws = nn.ParameterList([self.new(k, d) for _ in range(4 * H)])

    def matrices(self, d, H, k):
        w = torch.stack([*self.ws]).view(H, 4, k, d)
        return w[:, 0].mT, w[:, 1].mT, w[:, 2].mT, w[:, 3]

    def output(self):
        return self.ws[3::4]
