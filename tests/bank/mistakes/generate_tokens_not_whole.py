# /// bank
# about = "the tokens are written into torch.zeros, which holds floats"
# facts = "own"
# extends = "reference"
# also = ["float_tokens"]
# [loses]
# "generation.output_shape" = "failed"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# "generation.sampling" = "failed"
# ///


class GPT(GPT):
    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        B, T = idx.shape
        out = torch.zeros(B, T + max_new_tokens)
        out[:, :T] = idx
        for t in range(T, T + max_new_tokens):
            logits = self(out[:, max(0, t - self.T_max):t])
            probs = F.softmax(logits[:, -1], dim=-1)
            out[:, t] = torch.multinomial(probs, num_samples=1)[:, 0]
        return out
