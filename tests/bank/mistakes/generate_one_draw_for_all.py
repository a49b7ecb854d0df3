# /// bank
# about = "one token is drawn, and every row of the batch gets it"
# facts = "M80"
# extends = "reference"
# also = ["generate_one_sample_per_batch"]
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
        B = idx.shape[0]
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])
            probs = F.softmax(logits[0, -1], dim=-1)
            token = torch.multinomial(probs, 1)
            idx = torch.cat([idx, token.expand(B, 1)], dim=1)
        return idx
