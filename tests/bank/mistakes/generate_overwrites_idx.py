# /// bank
# about = "idx itself is cropped, so the beginning of the sequence is lost"
# facts = "M75"
# extends = "reference"
# also = ["generate_overwrites_idx"]
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
            if idx.size(1) > self.T_max:
                idx = idx[:, -self.T_max:]
            logits = self(idx)[:, -1, :]
            probs = F.softmax(logits, dim=-1)
            idx = torch.cat((idx, torch.multinomial(probs, num_samples=1)), dim=1)
        return idx
