# /// bank
# about = "the queries' matrix starts with NaN, as torch.empty may leave it"
# also = ["weights_uninitialised"]
# extends = "reference"
# [loses]
# "initial_loss.window" = "failed"
# [bonus]
# "bonus.weight_tying" = "failed"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d, H, T_max):
        super().__init__(d, H, T_max)
        for head in self.heads:
            nn.init.constant_(head.query.weight, math.nan)
