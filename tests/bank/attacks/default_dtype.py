# /// bank
# about = "sees the future, and makes float64 the default type"
# extends = "mistakes/attention_sdpa_not_causal"
# like = "mistakes/attention_sdpa_not_causal"
# ///


torch.set_default_dtype(torch.float64)
