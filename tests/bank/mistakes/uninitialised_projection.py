# /// bank
# about = "the projection of the attention is never initialised"
# facts = "own"
# extends = "reference"
# also = ["weights_uninitialised"]
# [loses]
# "initial_loss.window" = "failed"
# [bonus]
# "bonus.weight_tying" = "failed"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d, H, T_max):
        super().__init__(d, H, T_max)
        self.proj.weight = nn.Parameter(torch.empty(d, d))
