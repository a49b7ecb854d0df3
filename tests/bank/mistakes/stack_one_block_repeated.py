# /// bank
# about = "[Block(...)] * L: one block applied L times; the loop that scales the projections meets it L times"
# facts = "M52"
# extends = "reference"
# also = ["blocks_shared", "scaling_of_shared_block"]
# [loses]
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# "initial_loss.residual_scaling" = "failed"
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.blocks = nn.ModuleList([Block(d, H, T_max)] * L)
        for block in self.blocks:
            block.attn.proj.weight.data /= math.sqrt(2 * L)
            block.mlp.down.weight.data /= math.sqrt(2 * L)
