# /// bank
# about = "generation stops when the context is full"
# facts = "M76"
# extends = "reference"
# also = ["generate_stops_at_T_max"]
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
            if idx.shape[1] >= self.T_max:
                break  # the model cannot see more than T_max tokens
            logits = self(idx)
            probs = F.softmax(logits[:, -1, :], dim=-1)
            idx = torch.cat([idx, torch.multinomial(probs, 1)], dim=1)
        return idx
