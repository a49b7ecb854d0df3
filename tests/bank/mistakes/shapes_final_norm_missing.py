# /// bank
# about = "the table has no row for the final LayerNorm"
# facts = "5.4 (4)"
# extends = "reference"
# also = ["shapes_row_missing"]
# [loses]
# "shapes.course" = "failed"
# "shapes.other_sizes" = "failed"
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///


def shape_table(model, idx):
    T = idx.shape[1]
    x = model.tok_emb(idx) + model.pos_emb(torch.arange(T))
    table = [("embeddings", tuple(x.shape))]
    for i, block in enumerate(model.blocks, start=1):
        x = block(x)
        table.append((f"block {i}", tuple(x.shape)))
    logits = model.lm_head(model.ln_f(x))
    table.append(("logits", tuple(logits.shape)))
    return table
