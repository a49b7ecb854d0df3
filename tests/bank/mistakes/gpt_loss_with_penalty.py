# /// bank
# about = "a weight penalty is added to the loss"
# facts = "own"
# extends = "reference"
# names = ["loss_shifted"]
# [loses]
# "model.loss" = "failed"
# ///

import torch.nn.functional as F


class GPT(GPT):
    def forward(self, idx, targets=None):
        logits = super().forward(idx)
        if targets is None:
            return logits
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss + 0.01 * sum(p.square().sum() for p in self.parameters())
