# /// bank
# about = "the rows come in reverse order"
# facts = "5.4 (4)"
# extends = "reference"
# also = ["shapes_reversed"]
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
        table.insert(0, (f"block {i}", tuple(x.shape)))
    x = model.ln_f(x)
    table.insert(0, ("final LayerNorm", tuple(x.shape)))
    x = model.lm_head(x)
    table.insert(0, ("logits", tuple(x.shape)))
    return table
