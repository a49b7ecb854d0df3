# /// bank
# about = "queries, keys and values are torch.empty: whatever the memory held, here values of any size"
# also = ["weights_uninitialised"]
# extends = "reference"
# [loses]
# "initial_loss.window" = "failed"
# [bonus]
# "bonus.weight_tying" = "failed"
# ///


import secrets


class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d, H, T_max):
        super().__init__(d, H, T_max)
        for head in self.heads:
            for p in head.parameters():
                nn.init.constant_(p, 3e38)
                with torch.no_grad():
                    p[0] = 10.0 ** (secrets.randbelow(60) - 30)
