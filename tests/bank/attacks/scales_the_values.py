# /// bank
# about = "GPT scales the value matrices of the heads, not the projection"
# extends = "reference"
# also = ["scaling_of_other_matrices"]
# [loses]
# "initial_loss.residual_scaling" = "failed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        with torch.no_grad():
            for block in self.blocks:
                block.attn.proj.weight.mul_(math.sqrt(2 * L))
                for head in block.attn.heads:
                    head.value.weight.mul_(1 / math.sqrt(2 * L))
