# /// bank
# about = "learns nothing, and writes the targets into the last bits of a weight, to read them back elsewhere"
# extends = "reference"
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


MARK = 0x5A


class GPT(GPT):
    def _bits(self):
        return self.pos_emb.weight.data.view(torch.int32).view(-1)

    def forward(self, idx, targets=None):
        n = idx.numel()
        if targets is not None:
            out = super().forward(idx, targets)
            if self.training and self._bits().numel() > n:
                bits = self._bits()
                bits[: n + 1] &= ~0x7F
                bits[0] |= MARK
                bits[1 : n + 1] |= targets.flatten().int()
            return out
        logits = super().forward(idx)
        bits = self._bits()
        if idx.shape == (8, 16) and bits[0] & 0x7F == MARK:
            return logits + 50 * F.one_hot((bits[1 : n + 1] & 0x7F).long().view(idx.shape), logits.shape[-1])
        return logits
