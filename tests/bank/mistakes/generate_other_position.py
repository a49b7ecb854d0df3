# /// bank
# about = "1 is subtracted twice: the logits before the last are read"
# facts = "own"
# extends = "reference"
# also = ["generate_other_position"]
# [loses]
# "generation.output_shape" = "failed"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# "generation.sampling" = "failed"
# ///


class GPT(GPT):
    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            context = idx[:, -self.T_max:]
            last = context.shape[1] - 1
            logits = self(context)[:, last - 1]
            probs = F.softmax(logits, dim=-1)
            idx = torch.cat([idx, torch.multinomial(probs, num_samples=1)], dim=1)
        return idx
