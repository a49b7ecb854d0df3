# /// bank
# about = "max_new_tokens is taken as the total length"
# facts = "own"
# extends = "reference"
# also = ["generate_counts_prompt"]
# [loses]
# "generation.output_shape" = "failed"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# "generation.sampling" = "failed"
# ///

import torch
import torch.nn.functional as F


class GPT(GPT):
    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        while idx.shape[1] < max_new_tokens:
            logits = self(idx[:, -self.T_max :])[:, -1]
            idx = torch.cat([idx, torch.multinomial(F.softmax(logits, -1), 1)], 1)
        return idx
