# /// bank
# about = "the positions are a sinusoidal buffer"
# facts = "own"
# extends = "reference"
# unnamed = "other positions than learnt ones"
# [loses]
# "model.composition" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# ///


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        self.tok_emb = nn.Embedding(V, d)
        angles = torch.arange(T_max)[:, None] / 100 ** (torch.arange(d) / d)
        self.register_buffer("pos_emb", torch.sin(angles))
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        with torch.no_grad():
            for block in self.blocks:
                block.attn.proj.weight.mul_((2 * L) ** -0.5)
                block.mlp.down.weight.mul_((2 * L) ** -0.5)

    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"T={T} is larger than T_max={self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb[:T]
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.view(B * T, -1), targets.reshape(B * T))

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            probabilities = F.softmax(self(idx[:, -self.T_max :])[:, -1], dim=-1)
            idx = torch.cat([idx, torch.multinomial(probabilities, 1)], dim=1)
        return idx


def shape_table(model, idx):
    x = model.tok_emb(idx) + model.pos_emb[: idx.shape[1]]
    table = [("embeddings", tuple(x.shape))]
    for number, block in enumerate(model.blocks, start=1):
        x = block(x)
        table.append((f"block {number}", tuple(x.shape)))
    x = model.ln_f(x)
    return [*table, ("final LayerNorm", tuple(x.shape)), ("logits", tuple(model.lm_head(x).shape))]
