# /// bank
# about = "sees the future, and makes float64 the default type"
# extends = "mistakes/attention_sdpa_not_causal"
# like = "mistakes/attention_sdpa_not_causal"
# [loses]
# "attention.shape" = "failed"
# "attention.rows_sum_to_one" = "failed"
# "mlp.position_wise" = "failed"
# "block.residual_path" = "failed"
# [bonus]
# "bonus.batched_heads" = "failed"
# ///


torch.set_default_dtype(torch.float64)
