# /// bank
# about = "MLP.forward returns one feature too few"
# extends = "reference"
# [loses]
# "mlp.formula" = "failed"
# "mlp.position_wise" = "failed"
# ///


class MLP(MLP):
    def forward(self, x):
        out = super().forward(x)
        return out[..., :-1] if torch.is_tensor(out) else (out[0][..., :-1], out[1])
