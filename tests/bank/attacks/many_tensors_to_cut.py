# /// bank
# about = "the MLP lists 60 vectors that may each hold two biases: 2^60 ways to cut them"
# facts = "own"
# extends = "mistakes/mlp_relu"
# names = ["mlp_relu"]
# [loses]
# "mlp.formula" = "partial"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# ///


class MLP(MLP):
    def __init__(self, d):
        super().__init__(d)
        for number in range(60):
            self.register_parameter("abcdefgh"[number // 8] + "ijklmnop"[number % 8], nn.Parameter(torch.zeros(5 * d)))

    def forward(self, x):
        return super().forward(x) + 0 * sum(p.sum() for p in self.parameters())
