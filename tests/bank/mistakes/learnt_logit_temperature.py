# /// bank
# about = "the logits are divided by a learnt temperature"
# facts = "own"
# extends = "reference"
# also = ["scalar_extra"]
# [loses]
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.temperature = nn.Parameter(torch.tensor(1.0))

    def forward(self, idx, targets=None):
        logits = super().forward(idx) / self.temperature
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
