# /// bank
# about = "takes the most likely token instead of sampling"
# facts = "M77"
# extends = "reference"
# also = ["generate_argmax"]
# [loses]
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
            logits = self(idx[:, -self.T_max:])[:, -1, :]
            probs = F.softmax(logits, dim=-1)
            next_token = probs.argmax(dim=-1, keepdim=True)
            idx = torch.cat([idx, next_token], dim=1)
        return idx
