# /// bank
# about = "forward works through large batches in groups of 8 rows and leaves out the last, incomplete group"
# extends = "reference"
# unnamed = "only batches of more than 8 rows show it"
# [loses]
# "model.composition" = "failed"
# ///


_one_group = GPT.forward


def _forward(self, idx, targets=None):
    B, T = idx.shape
    if B <= 8:
        return _one_group(self, idx, targets)
    assert T <= self.T_max, f"idx has T={T} tokens, but this model sees at most T_max={self.T_max}"
    V = self.lm_head.weight.shape[0]
    parts = [_one_group(self, idx[i : i + 8]) for i in range(0, B - 7, 8)]
    left = B - 8 * len(parts)
    logits = torch.cat(parts + [parts[0].new_zeros(left, T, V)])
    if targets is None:
        return logits
    return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())


GPT.forward = _forward
