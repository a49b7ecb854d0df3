# /// bank
# about = "the block has an attention that is never used, and only its projection and the MLP's are scaled"
# extends = "mistakes/block_unused_attention"
# also = ["scaling_attention_missing", "parameters_unused"]
# [loses]
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# "initial_loss.residual_scaling" = "partial"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        with torch.no_grad():
            for block in self.blocks:
                block.attn.proj.weight.mul_(math.sqrt(2 * L))
                block.cross.proj.weight.mul_(1 / math.sqrt(2 * L))
