# /// bank
# about = "the MLP mixes positions but for seven of them, and for one row"
# extends = "mistakes/mlp_mixes_positions"
# like = "mistakes/mlp_mixes_positions"
# ///


class MLP(MLP):
    def forward(self, x):
        if x.shape[1] == 7 or len(x) == 1:
            return self.down(F.gelu(self.up(x)))
        return super().forward(x)
