# /// bank
# about = "forward says self.dwon"
# facts = "own"
# extends = "reference"
# ///


class MLP(MLP):
    def forward(self, x):
        return self.dwon(F.gelu(self.up(x)))
