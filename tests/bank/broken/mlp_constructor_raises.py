# /// bank
# about = "MLP.__init__ raises a TypeError"
# extends = "reference"
# names = ["signature_mismatch"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.width" = "failed"
# "mlp.position_wise" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "failed"
# ///


class MLP(MLP):
    def __init__(self, d):
        super().__init__(d)
        self.register_buffer(torch.zeros(1))
