# /// bank
# about = "the last token is V - 1, so there are V - 1 rows, and clamp keeps to them"
# facts = "own"
# extends = "reference"
# also = ["vocabulary_row_missing"]
# [loses]
# "model.composition" = "failed"
# "model.loss" = "failed"
# "model.training" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# "causality.full_model" = "failed"
# "causality.full_context" = "failed"
# "causality.batch_independence" = "failed"
# "causality.rows_sum_to_one" = "failed"
# "initial_loss.window" = "failed"
# "shapes.course" = "failed"
# "shapes.other_sizes" = "failed"
# [bonus]
# "bonus.weight_tying" = "failed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V - 1, T_max, d, H, L, tie_weights)

    def forward(self, idx, targets=None):
        last = self.tok_emb.num_embeddings - 1
        if targets is not None:
            targets = targets.clamp(max=last)
        return super().forward(idx.clamp(max=last), targets)


@torch.no_grad()
def shape_table(model, idx):
    idx = idx.clamp(max=model.tok_emb.num_embeddings - 1)
    x = model.tok_emb(idx) + model.pos_emb(torch.arange(idx.shape[1], device=idx.device))
    table = [("embeddings", tuple(x.shape))]
    for number, block in enumerate(model.blocks, start=1):
        x = block(x)
        table.append((f"block {number}", tuple(x.shape)))
    x = model.ln_f(x)
    table.append(("final LayerNorm", tuple(x.shape)))
    table.append(("logits", tuple(model.lm_head(x).shape)))
    return table
