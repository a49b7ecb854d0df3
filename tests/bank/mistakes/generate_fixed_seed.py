# /// bank
# about = "torch.manual_seed inside generate: every call gives the same continuation"
# facts = "own"
# extends = "reference"
# also = ["generate_fixed_seed"]
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
        torch.manual_seed(1337)
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])
            probs = F.softmax(logits[:, -1, :], dim=-1)
            idx_next = torch.multinomial(probs, num_samples=1)
            idx = torch.cat((idx, idx_next), dim=1)
        return idx
