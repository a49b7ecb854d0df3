# /// bank
# about = "forward says self(x) for self.up(x)"
# facts = "own"
# extends = "reference"
# names = ["infinite_recursion"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.position_wise" = "failed"
# ///


class MLP(MLP):
    def forward(self, x):
        return self.down(F.gelu(self(x)))
