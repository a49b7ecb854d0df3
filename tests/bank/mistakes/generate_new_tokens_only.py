# /// bank
# about = "returns the new tokens without the prompt"
# facts = "M80"
# extends = "reference"
# also = ["generate_without_prompt"]
# [loses]
# "generation.output_shape" = "failed"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# "generation.sampling" = "failed"
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///


class GPT(GPT):
    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        prompt_length = idx.shape[1]
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])[:, -1]
            idx = torch.cat([idx, torch.multinomial(logits.softmax(-1), 1)], dim=1)
        return idx[:, prompt_length:]
