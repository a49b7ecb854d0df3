# /// bank
# about = "no final LayerNorm: the unembedding reads the raw stream, the first loss is about 4.51"
# facts = "M62"
# extends = "reference"
# names = ["final_norm_missing"]
# also = ["shapes_row_missing"]
# [loses]
# "model.composition" = "partial"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# "initial_loss.window" = "failed"
# "shapes.course" = "failed"
# "shapes.other_sizes" = "failed"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# ///


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        self.tok_emb = nn.Embedding(V, d)
        self.pos_emb = nn.Embedding(T_max, d)
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.lm_head = nn.Linear(d, V, bias=False)
        with torch.no_grad():
            for block in self.blocks:
                block.attn.proj.weight *= 1 / math.sqrt(2 * L)
                block.mlp.down.weight *= 1 / math.sqrt(2 * L)

    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"T={T} is larger than T_max={self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(x)
        if targets is None:
            return logits
        loss = F.cross_entropy(logits.view(B * T, -1), targets.reshape(B * T))
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])
            probs = F.softmax(logits[:, -1, :], dim=-1)
            idx = torch.cat((idx, torch.multinomial(probs, num_samples=1)), dim=1)
        return idx


def shape_table(model, idx):
    table = []
    x = model.tok_emb(idx) + model.pos_emb(torch.arange(idx.shape[1]))
    table.append(("embeddings", tuple(x.shape)))
    for n, block in enumerate(model.blocks):
        x = block(x)
        table.append((f"block {n + 1}", tuple(x.shape)))
    x = model.lm_head(x)
    table.append(("logits", tuple(x.shape)))
    return table
