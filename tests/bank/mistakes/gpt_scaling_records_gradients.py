# /// bank
# about = "the projections are scaled in place while gradients are recorded"
# facts = "M73"
# extends = "reference"
# names = ["parameter_in_place_change"]
# [loses]
# "model.composition" = "failed"
# "model.gradients" = "failed"
# "model.loss" = "failed"
# "model.training" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "failed"
# "causality.full_model" = "failed"
# "causality.full_context" = "failed"
# "causality.batch_independence" = "failed"
# "causality.rows_sum_to_one" = "failed"
# "initial_loss.window" = "failed"
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
            block.attn.proj.weight *= (2 * L) ** -0.5
            block.mlp.down.weight *= (2 * L) ** -0.5
