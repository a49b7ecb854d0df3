# /// bank
# about = "the process ends while gpt.py is imported"
# extends = "reference"
# [loses]
# "parameters.total" = "crashed"
# "parameters.other_sizes" = "crashed"
# "parameters.by_part" = "crashed"
# "causality.full_model" = "crashed"
# "causality.past" = "crashed"
# "causality.batch_rows" = "crashed"
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

if __name__ != "__main__":
    print("done")
    os._exit(0)
