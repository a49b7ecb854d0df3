# /// bank
# about = "L + 1 blocks"
# facts = "M55"
# extends = "reference"
# names = ["blocks_wrong_number"]
# [loses]
# "model.composition" = "partial"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.blocks = nn.ModuleList()
        for _ in range(L + 1):
            block = Block(d, H, T_max)
            block.attn.proj.weight.data /= math.sqrt(2 * L)
            block.mlp.down.weight.data /= math.sqrt(2 * L)
            self.blocks.append(block)
