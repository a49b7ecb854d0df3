# /// bank
# about = "the factor is 1/sqrt(8), whatever L is"
# facts = "M73"
# extends = "reference"
# also = ["scaling_constant"]
# [loses]
# "initial_loss.residual_scaling" = "failed"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L):
        nn.Module.__init__(self)
        self.T_max = T_max
        self.tok_emb = nn.Embedding(V, d)
        self.pos_emb = nn.Embedding(T_max, d)
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        for block in self.blocks:
            block.attn.proj.weight.data *= 8 ** -0.5
            block.mlp.down.weight.data *= 8 ** -0.5
