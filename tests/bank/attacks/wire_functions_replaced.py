# /// bank
# about = "the functions that pack and unpack messages are replaced by what sends more, deeper and other things"
# facts = "5, 17"
# extends = "broken/wrong_everywhere"
# like = "broken/exit_at_import"
# names = ["mlp_width"]
# [loses]
# "attention.shape" = "failed"
# "attention.formula" = "failed"
# "attention.heads" = "failed"
# "attention.rows_sum_to_one" = "failed"
# "attention.causal" = "failed"
# "mlp.formula" = "failed"
# "mlp.width" = "failed"
# "mlp.position_wise" = "failed"
# "block.composition" = "failed"
# "block.residual_path" = "failed"
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
# "parameters.formula" = "failed"
# "parameters.percentages" = "failed"
# "paper.block_matrices" = "failed"
# "paper.expected_loss" = "failed"
# "paper.layer_norm" = "failed"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///


import gc
import types

for thing in gc.get_objects():
    if isinstance(thing, dict) and thing.get("__name__") == "autograder.sandbox.remote.wire":
        thing["MAX_HEADER"] = thing["MAX_BODY"] = thing["MAX_DEPTH"] = thing["MAX_TEXT"] = 1 << 40
        thing["encode"] = lambda value, as_array=None: thing["PREFIX"].pack(1 << 31, 1 << 31) + b"[" * (1 << 20)
for thing in gc.get_objects():
    if isinstance(thing, types.ModuleType) and getattr(thing, "__name__", "") == "autograder.sandbox.remote.wire":
        thing.clean = lambda text, cap=0: text
