# /// bank
# about = "the table of positions has a batch axis of 32: one table for each row"
# facts = "M58"
# extends = "reference"
# also = ["position_batch_axis"]
# [loses]
# "model.composition" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# "generation.sampling" = "failed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        batch_size = 32
        self.pos_emb = nn.Parameter(0.02 * torch.randn(batch_size, T_max, d))

    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"T={T} is larger than T_max={self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb[:B, :T]
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())


@torch.no_grad()
def shape_table(model, idx):
    B, T = idx.shape
    x = model.tok_emb(idx) + model.pos_emb[:B, :T]
    table = [("embeddings", tuple(x.shape))]
    for number, block in enumerate(model.blocks, start=1):
        x = block(x)
        table.append((f"block {number}", tuple(x.shape)))
    x = model.ln_f(x)
    table.append(("final LayerNorm", tuple(x.shape)))
    table.append(("logits", tuple(model.lm_head(x).shape)))
    return table
