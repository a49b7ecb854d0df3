# /// bank
# about = "logits in float64 near the largest number, so that the initial loss is infinite"
# facts = "19"
# extends = "reference"
# [loses]
# "model.composition" = "failed"
# "model.loss" = "failed"
# "causality.past" = "failed"
# "initial_loss.window" = "failed"
# "generation.contract" = "failed"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# "generation.sampling" = "failed"
# [bonus]
# "bonus.weight_tying" = "failed"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):

        out = super().forward(idx, targets)
        if targets is None:
            return out.double() * 1e307
        return out[0].double() * 1e307, out[1]
