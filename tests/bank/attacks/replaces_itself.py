# /// bank
# about = "the worker executes another program in its place"
# facts = "10"
# extends = "reference"
# [loses]
# "attention.shape" = "crashed"
# "attention.formula" = "crashed"
# "attention.heads" = "crashed"
# "attention.simplex" = "crashed"
# "attention.causal" = "crashed"
# "mlp.formula" = "crashed"
# "mlp.width" = "crashed"
# "mlp.alone" = "crashed"
# "block.composition" = "crashed"
# "block.identity" = "crashed"
# "model.composition" = "crashed"
# "model.gradients" = "crashed"
# "model.loss" = "crashed"
# "model.training" = "crashed"
# "parameters.total" = "crashed"
# "parameters.other_sizes" = "crashed"
# "parameters.by_part" = "crashed"
# "causality.full_model" = "crashed"
# "causality.past" = "crashed"
# "causality.batch_rows" = "crashed"
# "causality.simplex" = "crashed"
# "initial_loss.window" = "crashed"
# "initial_loss.residual_scaling" = "crashed"
# "shapes.course" = "crashed"
# "shapes.other_sizes" = "crashed"
# "generation.contract" = "crashed"
# "generation.crop" = "crashed"
# "generation.long_prompt" = "crashed"
# "generation.sampling" = "crashed"
# [bonus]
# "bonus.weight_tying" = "crashed"
# "bonus.batched_heads" = "crashed"
# "bonus.qk_ov" = "crashed"
# ///


import os

try:
    os.execv("/bin/sh", ["sh", "-c", "echo GAINED another program; sleep 1"])
except OSError:
    pass
