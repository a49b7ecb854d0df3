# /// bank
# about = "attention reads each position's own value only, until somebody else has set the weights"
# extends = "reference"
# [loses]
# "attention.formula" = "failed"
# "attention.heads" = "failed"
# "initial_loss.window" = "failed"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d, H, T_max):
        super().__init__(d, H, T_max)
        self.__dict__["start"] = self.proj.weight.detach().double().clone()

    def forward(self, x):
        now = self.proj.weight.detach().double()
        if F.cosine_similarity(now.flatten(), self.start.flatten(), dim=0) < 0.8:
            return super().forward(x)
        return self.proj(torch.cat([head.value(x) for head in self.heads], dim=-1))
