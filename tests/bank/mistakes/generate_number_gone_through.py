# /// bank
# about = "for _ in max_new_tokens, without range"
# facts = "own"
# extends = "reference"
# also = ["int_not_iterable"]
# [loses]
# "generation.output_shape" = "failed"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# "generation.sampling" = "failed"
# ///


class GPT(GPT):
    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in max_new_tokens:
            logits = self(idx[:, -self.T_max:])[:, -1]
            probs = F.softmax(logits, dim=-1)
            idx = torch.cat([idx, torch.multinomial(probs, num_samples=1)], dim=1)
        return idx
