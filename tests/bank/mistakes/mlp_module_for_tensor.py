# /// bank
# about = "the GELU is given self.up itself, not self.up(x)"
# facts = "own"
# extends = "reference"
# names = ["module_used_as_tensor"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.position_wise" = "failed"
# ///


class MLP(MLP):
    def forward(self, x):
        hidden = F.gelu(self.up)
        return self.down(hidden)
