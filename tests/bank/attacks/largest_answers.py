# /// bank
# about = "every answer is as large as an answer can be, and then too large"
# extends = "broken/wrong_everywhere"
# like = "broken/wrong_everywhere"
# ///


class GPT(GPT):
    n = 0

    def forward(self, idx, targets=None):
        GPT.n += 1
        return torch.zeros(8_388_600 + (GPT.n % 3) * 8)
