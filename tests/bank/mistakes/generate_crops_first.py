# /// bank
# about = "the context is cropped to the first T_max tokens"
# facts = "M74"
# extends = "reference"
# also = ["generate_crops_wrong_end"]
# [loses]
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///


class GPT(GPT):
    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            context = idx[:, :self.T_max]
            logits = self(context)[:, -1, :]
            probs = F.softmax(logits, dim=-1)
            idx = torch.cat([idx, torch.multinomial(probs, num_samples=1)], dim=1)
        return idx
