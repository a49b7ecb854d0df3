# /// bank
# about = "sees the future, and enters inference mode for good"
# extends = "mistakes/attention_sdpa_not_causal"
# like = "mistakes/attention_sdpa_not_causal"
# ///


torch.inference_mode().__enter__()
