# /// bank
# about = "gelu is called without F."
# facts = "own"
# extends = "reference"
# names = ["undefined_name"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.position_wise" = "failed"
# ///


class MLP(MLP):
    def forward(self, x):
        return self.down(gelu(self.up(x)))
