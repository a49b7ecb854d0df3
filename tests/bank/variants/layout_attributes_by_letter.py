# /// bank
# about = "attributes named by letters"
# facts = "3b"
# extends = "variants/layout_of_each_role"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def create(self, d, H, k):
        for h in range(H):
            for role in "qkv":
                setattr(self, f"{role}_{chr(97 + h)}", self.linear(d, k))
        self.out = self.linear(d, d)

    def matrices(self, d, H, k):
        q, kk, v = (torch.stack([getattr(self, f"{role}_{chr(97 + h)}").weight.T for h in range(H)]) for role in "qkv")
        return q, kk, v, self.out.weight.T.reshape(H, k, d)

    def output(self):
        return [self.out.weight]
