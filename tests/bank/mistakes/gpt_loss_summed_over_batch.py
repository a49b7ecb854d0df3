# /// bank
# about = "the loss is averaged over time and summed over the batch"
# facts = "own"
# extends = "reference"
# names = ["loss_summed_over_batch"]
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
        return logits, loss * len(idx)
