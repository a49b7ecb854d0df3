# /// bank
# about = "attention sees the future; logits of a shape that was asked for before are the first ones again"
# facts = "20"
# extends = "mistakes/attention_sdpa_not_causal"
# like = "mistakes/attention_sdpa_not_causal"
# [loses]
# "generation.long_prompt" = "failed"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        answers = self.__dict__.setdefault("answers", {})
        if targets is not None or torch.is_grad_enabled() or idx.shape[1] != self.T_max:
            return super().forward(idx, targets)
        if idx.shape not in answers:
            answers[idx.shape] = super().forward(idx)
        return answers[idx.shape]
