# /// bank
# about = "the loss is the number that the handout expects, whatever the logits are"
# facts = "20"
# extends = "reference"
# [loses]
# "model.gradients" = "failed"
# "model.loss" = "failed"
# "model.training" = "failed"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        logits = super().forward(idx)
        return logits if targets is None else (logits, torch.tensor(4.2))
