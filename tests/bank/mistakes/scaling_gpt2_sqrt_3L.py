# /// bank
# about = "all weights at std 0.02, the projections at 0.02 / sqrt(3L)"
# facts = "own"
# extends = "reference"
# also = ["scaling_wrong_constant"]
# [loses]
# "initial_loss.residual_scaling" = "failed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        for name, p in self.named_parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)
            if name.endswith(("proj.weight", "down.weight")):
                nn.init.normal_(p, std=0.02 / math.sqrt(3 * L))
