# /// bank
# about = "forward says self.dwon"
# facts = "own"
# extends = "reference"
# names = ["undefined_attribute"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.position_wise" = "failed"
# ///


class MLP(MLP):
    def forward(self, x):
        return self.dwon(F.gelu(self.up(x)))
