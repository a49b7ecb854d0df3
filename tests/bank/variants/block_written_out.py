# /// bank
# about = "Block keeps all its weights itself and calls neither MultiHeadAttention nor MLP"
# extends = "reference"
# ///


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.H = H
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.out = nn.Linear(d, d)
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x):
        B, T, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(B, T, 3, self.H, d // self.H).permute(2, 0, 3, 1, 4)
        read = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(read.transpose(1, 2).reshape(B, T, d))
        return x + self.down(F.gelu(self.up(self.ln2(x))))


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        nn.Module.__init__(self)
        self.T_max = T_max
        self.tok_emb = nn.Embedding(V, d)
        self.pos_emb = nn.Embedding(T_max, d)
        self.blocks = nn.ModuleList(Block(d, H, T_max) for _ in range(L))
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        for block in self.blocks:
            block.out.weight.data /= math.sqrt(2 * L)
            block.down.weight.data /= math.sqrt(2 * L)
        if tie_weights:
            self.lm_head.weight = self.tok_emb.weight
            nn.init.normal_(self.tok_emb.weight, std=0.02)
