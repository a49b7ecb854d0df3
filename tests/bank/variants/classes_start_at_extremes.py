# /// bank
# about = "attention starts huge, the MLP tiny or at zero and the block's gains at zero, until GPT initialises them"
# extends = "reference"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d, H, T_max):
        super().__init__(d, H, T_max)
        for p in self.parameters():
            nn.init.normal_(p, std=1e4)


class MLP(MLP):
    def __init__(self, d):
        super().__init__(d)
        nn.init.normal_(self.up.weight, std=1e-9)
        for p in (self.up.bias, *self.down.parameters()):
            nn.init.zeros_(p)


class Block(Block):
    def __init__(self, d, H, T_max):
        super().__init__(d, H, T_max)
        nn.init.zeros_(self.ln1.weight)
        nn.init.zeros_(self.ln2.weight)


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        for name, p in self.blocks.named_parameters():
            if ".ln" in name:
                nn.init.ones_(p) if name.endswith("weight") else nn.init.zeros_(p)
            elif name.endswith("bias"):
                nn.init.zeros_(p)
            else:
                nn.init.normal_(p, std=0.02)
        for block in self.blocks:
            for p in (block.attn.proj.weight, block.mlp.down.weight):
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * L))
