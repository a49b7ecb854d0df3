# /// bank
# about = "torch.multinomial is given the logits themselves"
# facts = "M80"
# extends = "reference"
# also = ["generate_from_logits"]
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
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])
            idx_next = torch.multinomial(logits[:, -1, :], num_samples=1)
            idx = torch.cat((idx, idx_next), dim=1)
        return idx
