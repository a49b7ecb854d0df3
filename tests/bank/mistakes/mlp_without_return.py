# /// bank
# about = "MLP.forward computes its result and does not return it"
# facts = "own"
# extends = "reference"
# names = ["result_is_none"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.position_wise" = "failed"
# ///


class MLP(MLP):
    def forward(self, x):
        x = F.gelu(self.up(x))
        x = self.down(x)
