# /// bank
# about = "MLP: the hidden layer is detached, so the up-projection gets no gradient"
# facts = "own"
# extends = "reference"
# names = ["parameter_without_gradient"]
# [loses]
# "model.training" = "partial"
# ///


class MLP(MLP):
    def forward(self, x):
        return self.down(F.gelu(self.up(x)).detach())
