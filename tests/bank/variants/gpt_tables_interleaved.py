# /// bank
# about = "queries and keys as well as values and outputs share a tensor, and so do token table and unembedding: (V, 2, d)"
# facts = "own"
# extends = "variants/attention_circuits"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.qk_ov" = "failed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L)
        self.vocabulary = nn.Parameter(torch.randn(V, 2, d) * 0.02)
        del self.tok_emb, self.lm_head

    def forward(self, idx, targets=None):
        x = self.vocabulary[:, 0][idx] + self.pos_emb.weight[: idx.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = self.ln_f(x) @ self.vocabulary[:, 1].T
        return logits if targets is None else (logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten()))


def shape_table(model, idx):
    x = model.vocabulary[:, 0][idx] + model.pos_emb.weight[: idx.shape[1]]
    rows = [("embeddings", tuple(x.shape))]
    for number, block in enumerate(model.blocks, 1):
        x = block(x)
        rows.append((f"block {number}", tuple(x.shape)))
    x = model.ln_f(x)
    return [*rows, ("final LayerNorm", tuple(x.shape)), ("logits", tuple((x @ model.vocabulary[:, 1].T).shape))]
