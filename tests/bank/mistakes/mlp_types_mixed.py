# /// bank
# about = "x is made bfloat16, and the weights are not"
# facts = "own"
# extends = "reference"
# names = ["dtype_mismatch"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.position_wise" = "failed"
# ///


class MLP(MLP):
    def forward(self, x):
        x = x.to(torch.bfloat16)
        return self.down(F.gelu(self.up(x)))
