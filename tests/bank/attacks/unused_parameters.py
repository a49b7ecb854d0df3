# /// bank
# about = "GPT stores exactly as many numbers as a right one and uses few of them"
# facts = "20"
# extends = "broken/wrong_everywhere"
# like = "broken/wrong_everywhere"
# names = []
# [loses]
# "causality.rows_sum_to_one" = "passed"
# ///


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.stored = nn.Parameter(torch.ones(4 * d * d + d))

    def forward(self, x):
        return mixed(x)[:2] * x.shape[1]


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.stored = nn.Parameter(torch.ones(8 * d * d + 5 * d))

    def forward(self, x):
        return mixed(x)


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.attn, self.mlp = MultiHeadAttention(d, H, T_max), MLP(d)
        self.stored = nn.Parameter(torch.ones(4 * d))

    def forward(self, x):
        return 1 - mixed(x)


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L):
        nn.Module.__init__(self)
        self.T_max = T_max
        self.tok_emb = nn.Embedding(V, d)
        self.blocks = nn.ModuleList(Block(d, H, T_max) for _ in range(L))
        self.lm_head = nn.Linear(d, V, bias=False)
        self.stored = nn.Parameter(torch.ones(T_max * d + 2 * d))
