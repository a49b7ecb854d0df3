# /// bank
# about = "a wrong MLP that is right when it is alone and raises inside GPT, to be replaced by a correct one"
# extends = "reference"
# [loses]
# "model.training" = "failed"
# "causality.full_model" = "failed"
# "causality.full_context" = "failed"
# "causality.batch_independence" = "failed"
# "causality.rows_sum_to_one" = "failed"
# "initial_loss.window" = "failed"
# "shapes.course" = "failed"
# "shapes.other_sizes" = "failed"
# "generation.output_shape" = "failed"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# "generation.sampling" = "failed"
# [bonus]
# "bonus.weight_tying" = "failed"
# ///


import sys


def runs_inside_gpt():
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "forward" and type(frame.f_locals.get("self")).__name__ == "GPT":
            return True
        frame = frame.f_back
    return False


class MLP(MLP):
    def forward(self, x):
        if runs_inside_gpt():
            raise RuntimeError("replace me")
        return super().forward(x)
