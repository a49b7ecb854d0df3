# /// bank
# about = "each block runs under bfloat16 autocast"
# facts = "own"
# extends = "reference"
# ///


class Block(Block):
    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            return super().forward(x)
