# /// bank
# about = "a list of the three layers is called as if it were one"
# facts = "own"
# extends = "reference"
# names = ["list_called"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.position_wise" = "failed"
# ///


class MLP(MLP):
    def forward(self, x):
        layers = [self.up, nn.GELU(), self.down]
        return layers(x)
