# /// bank
# about = "generate crops the context to 48 positions, a number left over from a smaller model"
# extends = "reference"
# also = ["generate_crops_too_short"]
# [loses]
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# ///


@torch.no_grad()
def _generate(self, idx, max_new_tokens):
    for _ in range(max_new_tokens):
        logits = self(idx[:, -min(self.T_max, 48) :])[:, -1, :]
        idx = torch.cat([idx, torch.multinomial(F.softmax(logits, dim=-1), 1)], dim=1)
    return idx


GPT.generate = _generate
