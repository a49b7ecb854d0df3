# /// bank
# about = "MLP.forward never returns"
# extends = "reference"
# [loses]
# "mlp.formula" = "timeout"
# "mlp.position_wise" = "timeout"
# ///


class MLP(MLP):
    def forward(self, x):
        while x is not None:
            pass
