# /// bank
# about = "forward takes memory until there is no more"
# facts = "18"
# extends = "reference"
# [loses]
# "mlp.formula" = "failed"
# "mlp.position_wise" = "failed"
# ///


class MLP(MLP):
    def forward(self, x):
        hoard = [torch.empty(1 << 28) for _ in range(4)]
        return super().forward(x) + hoard[-1][0]
