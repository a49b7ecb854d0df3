# /// bank
# about = "the context is one token short of T_max"
# facts = "own"
# extends = "reference"
# also = ["generate_crops_too_short"]
# [loses]
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# ///

import torch
import torch.nn.functional as F


class GPT(GPT):
    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max + 1 :])[:, -1]
            idx = torch.cat([idx, torch.multinomial(F.softmax(logits, -1), 1)], 1)
        return idx
