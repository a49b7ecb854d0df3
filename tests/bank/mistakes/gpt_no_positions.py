# /// bank
# about = "no position table at all: the model cannot tell places apart"
# facts = "M59"
# extends = "reference"
# names = ["positions_missing"]
# [loses]
# "model.composition" = "partial"
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
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        for block in self.blocks:
            block.attn.proj.weight.data.div_(math.sqrt(2 * L))
            block.mlp.down.weight.data.div_(math.sqrt(2 * L))

    def forward(self, idx, targets=None):
        assert idx.shape[1] <= self.T_max, f"T={idx.shape[1]} is larger than T_max={self.T_max}"
        x = self.tok_emb(idx)
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])[:, -1]
            idx = torch.cat([idx, torch.multinomial(F.softmax(logits, dim=-1), 1)], dim=1)
        return idx


def shape_table(model, idx):
    x = model.tok_emb(idx)
    table = [("embeddings", tuple(x.shape))]
    for n, block in enumerate(model.blocks, 1):
        x = block(x)
        table.append((f"block {n}", tuple(x.shape)))
    x = model.ln_f(x)
    table.append(("final LayerNorm", tuple(x.shape)))
    table.append(("logits", tuple(model.lm_head(x).shape)))
    return table
