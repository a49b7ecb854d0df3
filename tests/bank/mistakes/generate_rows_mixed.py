# /// bank
# about = "row by row, with the probabilities of row b - 1"
# facts = "own"
# extends = "reference"
# also = ["generate_rows_mixed"]
# [loses]
# "generation.output_shape" = "failed"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# ///


class GPT(GPT):
    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        B = idx.shape[0]
        for _ in range(max_new_tokens):
            probs = F.softmax(self(idx[:, -self.T_max:])[:, -1], dim=-1)
            drawn = [torch.multinomial(probs[b - 1], 1) for b in range(B)]
            idx = torch.cat([idx, torch.stack(drawn)], dim=1)
        return idx
