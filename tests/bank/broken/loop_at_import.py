# /// bank
# about = "an endless training loop at the top level of gpt.py"
# extends = "reference"
# [loses]
# "attention.shape" = "timeout"
# "attention.formula" = "timeout"
# "attention.heads" = "timeout"
# "attention.rows_sum_to_one" = "timeout"
# "attention.causal" = "timeout"
# "mlp.formula" = "timeout"
# "mlp.width" = "timeout"
# "mlp.position_wise" = "timeout"
# "block.composition" = "timeout"
# "block.residual_path" = "timeout"
# "model.composition" = "timeout"
# "model.gradients" = "timeout"
# "model.loss" = "timeout"
# "model.training" = "timeout"
# "parameters.total" = "timeout"
# "parameters.other_sizes" = "timeout"
# "parameters.by_part" = "timeout"
# "causality.full_model" = "timeout"
# "causality.full_context" = "timeout"
# "causality.batch_independence" = "timeout"
# "causality.rows_sum_to_one" = "timeout"
# "initial_loss.window" = "timeout"
# "initial_loss.residual_scaling" = "timeout"
# "shapes.course" = "timeout"
# "shapes.other_sizes" = "timeout"
# "generation.output_shape" = "timeout"
# "generation.crop" = "timeout"
# "generation.long_prompt" = "timeout"
# "generation.sampling" = "timeout"
# [bonus]
# "bonus.weight_tying" = "timeout"
# "bonus.batched_heads" = "timeout"
# "bonus.qk_ov" = "timeout"
# ///


model = GPT(65, 64, 32, 2, 1)
idx = torch.randint(65, (4, 17))
loss = torch.tensor(10.0)
while loss > 0:
    logits, loss = model(idx[:, :-1], idx[:, 1:])
    loss = loss.detach()
