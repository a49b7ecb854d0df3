# /// bank
# about = "the MLP leaves out its activation, until somebody else has set the weights"
# extends = "reference"
# [loses]
# "mlp.formula" = "failed"
# "initial_loss.window" = "failed"
# ///


class MLP(MLP):
    def __init__(self, d):
        super().__init__(d)
        self.__dict__["start"] = self.down.weight.detach().double().clone()

    def forward(self, x):
        now = self.down.weight.detach().double()
        if F.cosine_similarity(now.flatten(), self.start.flatten(), dim=0) < 0.8:
            return super().forward(x)
        return self.down(self.up(x))
