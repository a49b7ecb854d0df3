# /// bank
# about = "the first answer of the process is causal, and all later ones see the future"
# facts = "20"
# extends = "reference"
# [loses]
# "model.composition" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "failed"
# "causality.full_model" = "failed"
# "causality.past" = "failed"
# "causality.batch_rows" = "failed"
# "causality.simplex" = "failed"
# "initial_loss.window" = "failed"
# "initial_loss.residual_scaling" = "failed"
# "shapes.course" = "failed"
# "shapes.other_sizes" = "failed"
# "generation.contract" = "failed"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# "generation.sampling" = "failed"
# ///


first = True


class GPT(GPT):
    def forward(self, idx, targets=None):
        global first
        logits = super().forward(idx)
        if not first:
            logits = logits + super().forward(idx.flip(1)).flip(1)
        first = False
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
