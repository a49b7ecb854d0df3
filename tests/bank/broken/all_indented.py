# /// bank
# about = "the whole file is indented"
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
# [bonus]
# "bonus.weight_tying" = "failed"
# ///

    import torch.nn as nn

    class MultiHeadAttention(nn.Module):
        pass

    class MLP(nn.Module):
        pass

    class Block(nn.Module):
        pass

    class GPT(nn.Module):
        pass

    def shape_table(model, idx):
        return []
