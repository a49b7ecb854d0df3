# /// bank
# about = "all matrices of the blocks start orthogonal; the residual projections are then scaled"
# facts = "3b"
# extends = "reference"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        for name, p in self.blocks.named_parameters():
            if p.dim() > 1:
                residual = name.endswith(("attn.proj.weight", "mlp.down.weight"))
                nn.init.orthogonal_(p, gain=1 / math.sqrt(2 * L) if residual else 1)
