# /// bank
# about = "builtins and loaded modules are replaced by what always agrees"
# facts = "8, 1"
# extends = "broken/wrong_everywhere"
# like = "broken/wrong_everywhere"
# [loses]
# "attention.shape" = "crashed"
# "attention.formula" = "crashed"
# "attention.heads" = "crashed"
# "attention.rows_sum_to_one" = "crashed"
# "attention.causal" = "crashed"
# "mlp.formula" = "crashed"
# "mlp.position_wise" = "crashed"
# "block.composition" = "crashed"
# "block.residual_path" = "crashed"
# "model.composition" = "crashed"
# "model.gradients" = "crashed"
# "model.loss" = "crashed"
# "model.training" = "crashed"
# "causality.full_model" = "crashed"
# "causality.full_context" = "crashed"
# "causality.batch_independence" = "crashed"
# "causality.rows_sum_to_one" = "crashed"
# "initial_loss.window" = "crashed"
# "paper.layer_norm" = "failed"
# "shapes.course" = "crashed"
# "shapes.other_sizes" = "crashed"
# "generation.output_shape" = "crashed"
# "generation.crop" = "crashed"
# "generation.long_prompt" = "crashed"
# "generation.sampling" = "crashed"
# "verification.causality" = "failed"
# "verification.shapes" = "failed"
# [bonus]
# "bonus.weight_tying" = "crashed"
# ///


import builtins
import sys
import types


class Agreeing(types.ModuleType):
    def __getattr__(self, name):
        return lambda *arguments, **named: True


for name in ("pytest", "_pytest", "unittest", "doctest", "autograder", "autograder.grading.suite", "autograder.assignment.measure.outputs"):
    sys.modules[name] = Agreeing(name)
builtins.AssertionError = type("AssertionError", (Exception,), {})
builtins.abs = lambda x: 0
builtins.all = builtins.any = lambda x: True
