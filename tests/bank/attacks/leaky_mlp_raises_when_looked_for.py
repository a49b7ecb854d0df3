# /// bank
# about = "an MLP that mixes positions raises when the grader looks for classes that do not run, to be replaced"
# extends = "mistakes/mlp_mixes_positions"
# like = "mistakes/mlp_mixes_positions"
# ///


class MLP(MLP):
    def forward(self, x):
        if len(x) == 2 and x.flatten()[0] == -1 and x.flatten()[-1] == 1:
            raise RuntimeError("replace me")
        return super().forward(x)
