# /// bank
# about = "activation, a helper of its own, has no return"
# facts = "own"
# extends = "reference"
# names = ["result_is_none"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.position_wise" = "failed"
# ///


def activation(x):
    x = F.gelu(x)


class MLP(MLP):
    def forward(self, x):
        return self.down(activation(self.up(x)))
