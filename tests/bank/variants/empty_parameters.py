# /// bank
# about = "each class has a parameter without entries, as a switched-off part leaves behind"
# facts = "3b"
# extends = "reference"
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d, H, T_max):
        super().__init__(d, H, T_max)
        self.prefix = nn.Parameter(torch.zeros(0, d))


class MLP(MLP):
    def __init__(self, d):
        super().__init__(d)
        self.adapter = nn.Parameter(torch.zeros(d, 0))

    def forward(self, x):
        return super().forward(x) + x @ self.adapter @ self.adapter.T


class Block(Block):
    def __init__(self, d, H, T_max):
        super().__init__(d, H, T_max)
        self.nothing = nn.Parameter(torch.zeros(0))


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.nothing = nn.Parameter(torch.zeros(0))

    def forward(self, idx, targets=None):
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(idx.shape[1])) + self.nothing.sum()
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return logits if targets is None else (logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten()))
