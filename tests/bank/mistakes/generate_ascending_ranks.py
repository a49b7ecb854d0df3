# /// bank
# about = "the index into ascending sorted probabilities is taken for the token"
# facts = "own"
# extends = "reference"
# also = ["generate_rank_for_token"]
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
        for _ in range(max_new_tokens):
            p, _ = F.softmax(self(idx[:, -self.T_max :])[:, -1], -1).sort(-1)
            idx = torch.cat([idx, torch.multinomial(p, 1)], 1)
        return idx
