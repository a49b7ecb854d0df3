# /// bank
# about = "one MLP is handed to all blocks"
# facts = "M53"
# extends = "reference"
# also = ["mlp_shared"]
# [loses]
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        mlp = self.blocks[0].mlp
        for block in self.blocks:
            block.mlp = mlp
