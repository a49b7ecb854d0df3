# /// bank
# about = "the loss is detached from the parameters, so training changes nothing"
# extends = "reference"
# unnamed = "no value is wrong: what is missing is the way from the loss to the parameters"
# [loses]
# "model.gradients" = "failed"
# "model.training" = "failed"
# ///


_Right = GPT


class GPT(GPT):
    """Learns nothing: its loss reaches no parameter."""

    def forward(self, idx, targets=None):
        logits = _Right.forward(self, idx)
        if targets is None:
            return logits
        loss = F.cross_entropy(logits.detach().flatten(0, 1), targets.flatten())
        return logits, loss + 0 * sum(p.sum() for p in self.parameters())
