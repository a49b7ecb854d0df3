# /// bank
# about = "GPT scales the queries and the first linear layer of the MLP, which add nothing to the residual stream"
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
                block.mlp.down.weight.mul_(math.sqrt(2 * L))
                for head in block.attn.heads:
                    head.query.weight.mul_(1 / math.sqrt(2 * L))
                block.mlp.up.weight.mul_(1 / math.sqrt(2 * L))
