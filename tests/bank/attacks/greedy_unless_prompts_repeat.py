# /// bank
# about = "generate takes the likeliest token, and samples only if eight or more prompts are equal"
# extends = "reference"
# [loses]
# "generation.sampling" = "failed"
# ///


@torch.no_grad()
def _generate(self, idx, max_new_tokens):
    counted = idx.shape[0] >= 8 and bool((idx == idx[:1]).all())
    for _ in range(max_new_tokens):
        logits = self(idx[:, -self.T_max :])[:, -1, :]
        if counted:
            drawn = torch.multinomial(F.softmax(logits, dim=-1), 1)
        else:
            drawn = logits.argmax(-1, keepdim=True)
        idx = torch.cat([idx, drawn], dim=1)
    return idx


GPT.generate = _generate
