# /// bank
# about = "the MLP adds half of the mean over all positions to its input"
# facts = "own"
# extends = "reference"
# unnamed = "nobody would write this; it is what an attack hides"
# [loses]
# "mlp.formula" = "failed"
# "mlp.position_wise" = "failed"
# "causality.full_model" = "failed"
# ///


class MLP(MLP):
    def forward(self, x):
        return super().forward(x + 0.5 * x.mean(1, keepdim=True))
