# /// bank
# about = "MLP.forward uses an attribute that is not defined"
# extends = "reference"
# names = ["undefined_attribute"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.position_wise" = "failed"
# ///


class MLP(MLP):
    def forward(self, x):
        return super().forward(x) + self.missing
