# /// bank
# about = "MLP.forward is still a stub"
# extends = "reference"
# [loses]
# "mlp.formula" = "not_implemented"
# "mlp.position_wise" = "not_implemented"
# ///


class MLP(MLP):
    def forward(self, x):
        raise NotImplementedError()
