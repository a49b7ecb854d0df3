# /// bank
# about = "the up-projection is a torch.Tensor(4d, d), never filled"
# facts = "own"
# extends = "reference"
# also = ["weights_uninitialised"]
# [loses]
# "initial_loss.window" = "failed"
# [bonus]
# "bonus.weight_tying" = "failed"
# ///


class MLP(MLP):
    def __init__(self, d):
        super().__init__(d)
        self.up.weight = nn.Parameter(torch.Tensor(4 * d, d))
