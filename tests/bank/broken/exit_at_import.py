# /// bank
# about = "the process ends while gpt.py is imported"
# extends = "reference"
# [loses]
# "attention.shape" = "crashed"
# "attention.formula" = "crashed"
# "attention.heads" = "crashed"
# "attention.rows_sum_to_one" = "crashed"
# "attention.causal" = "crashed"
# "mlp.formula" = "crashed"
# "mlp.width" = "crashed"
# "mlp.position_wise" = "crashed"
# "block.composition" = "crashed"
# "block.residual_path" = "crashed"
# "model.composition" = "crashed"
# "model.gradients" = "crashed"
# "model.loss" = "crashed"
# "model.training" = "crashed"
# "parameters.total" = "crashed"
# "parameters.other_sizes" = "crashed"
# "parameters.by_part" = "crashed"
# "causality.full_model" = "crashed"
# "causality.full_context" = "crashed"
# "causality.batch_independence" = "crashed"
# "causality.rows_sum_to_one" = "crashed"
# "initial_loss.window" = "crashed"
# "initial_loss.residual_scaling" = "crashed"
# "shapes.course" = "crashed"
# "shapes.other_sizes" = "crashed"
# "generation.output_shape" = "crashed"
# "generation.crop" = "crashed"
# "generation.long_prompt" = "crashed"
# "generation.sampling" = "crashed"
# [bonus]
# "bonus.weight_tying" = "crashed"
# "bonus.batched_heads" = "crashed"
# "bonus.qk_ov" = "crashed"
# ///


import os

if __name__ != "__main__":
    print("done")
    os._exit(0)
