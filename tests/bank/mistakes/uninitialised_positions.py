# /// bank
# about = "the position embedding is never initialised"
# facts = "own"
# extends = "reference"
# also = ["weights_uninitialised"]
# [loses]
# "initial_loss.window" = "failed"
# [bonus]
# "bonus.weight_tying" = "failed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.pos_emb.weight = nn.Parameter(torch.empty(T_max, d))
