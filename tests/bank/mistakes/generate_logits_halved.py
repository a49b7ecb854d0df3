# /// bank
# about = "the logits are divided by 2 before the softmax"
# facts = "own"
# extends = "reference"
# also = ["generate_temperature"]
# [loses]
# "generation.sampling" = "failed"
# ///


class GPT(GPT):
    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])[:, -1]
            idx = torch.cat([idx, torch.multinomial(F.softmax(logits / 2, dim=-1), 1)], dim=1)
        return idx
