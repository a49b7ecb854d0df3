# /// bank
# about = "ignore_index=0 in the loss"
# facts = "own"
# extends = "reference"
# names = ["loss_weights_classes"]
# [loses]
# "model.loss" = "failed"
# ///

import torch.nn.functional as F


class GPT(GPT):
    def forward(self, idx, targets=None):
        logits = super().forward(idx)
        if targets is None:
            return logits
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0)
        return logits, loss
