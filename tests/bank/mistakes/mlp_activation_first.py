# /// bank
# about = "GELU before the first Linear"
# facts = "own"
# extends = "reference"
# ///


class MLP(MLP):
    def forward(self, x):
        return self.down(self.up(F.gelu(x)))
