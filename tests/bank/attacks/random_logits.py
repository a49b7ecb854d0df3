# /// bank
# about = "a right count, and logits that are noise of the size that gives the right loss"
# facts = "20"
# extends = "reference"
# names = ["dropout_in_eval"]
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
# "shapes.course" = "failed"
# "shapes.other_sizes" = "failed"
# "generation.output_shape" = "failed"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# "generation.sampling" = "failed"
# [bonus]
# "bonus.weight_tying" = "failed"
# ///


import os


class GPT(GPT):
    def forward(self, idx, targets=None):
        x = self.tok_emb(idx)
        for block in self.blocks:
            x = block(x)
        size = (*idx.shape, self.lm_head.weight.shape[0])
        noise = torch.frombuffer(bytearray(os.urandom(torch.Size(size).numel())), dtype=torch.uint8).float()
        logits = 0 * self.lm_head(x) + noise.reshape(size) / 256
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
