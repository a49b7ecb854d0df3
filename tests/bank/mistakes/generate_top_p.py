# /// bank
# about = "top-p 0.9 that is always on"
# facts = "own"
# extends = "reference"
# also = ["generate_truncated"]
# [loses]
# "generation.sampling" = "failed"
# ///

import torch
import torch.nn.functional as F


class GPT(GPT):
    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            p, order = F.softmax(self(idx[:, -self.T_max :])[:, -1], -1).sort(-1, descending=True)
            p = p.masked_fill(p.cumsum(-1) - p > 0.9, 0.0)
            idx = torch.cat([idx, order.gather(1, torch.multinomial(p, 1))], 1)
        return idx
