# /// bank
# about = "positions, token table and unembedding (d, V) in one vector"
# facts = "own"
# extends = "reference"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L)
        self.V = V
        self.table = nn.Parameter(torch.randn((2 * V + T_max) * d) * 0.02)
        del self.tok_emb, self.pos_emb, self.lm_head

    def tables(self):
        V, T, d = self.V, self.T_max, self.ln_f.weight.numel()
        pos, tok, head = self.table.split([T * d, V * d, V * d])
        return tok.view(V, d), pos.view(T, d), head.view(d, V)

    def forward(self, idx, targets=None):
        tok, pos, head = self.tables()
        x = tok[idx] + pos[: idx.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = self.ln_f(x) @ head
        return logits if targets is None else (logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten()))


def shape_table(model, idx):
    tok, pos, head = model.tables()
    x = tok[idx] + pos[: idx.shape[1]]
    rows = [("embeddings", tuple(x.shape))]
    for number, block in enumerate(model.blocks, 1):
        x = block(x)
        rows.append((f"block {number}", tuple(x.shape)))
    x = model.ln_f(x)
    return [*rows, ("final LayerNorm", tuple(x.shape)), ("logits", tuple((x @ head).shape))]
