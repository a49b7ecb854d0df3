# /// bank
# about = "the shapes leave out the batch axis"
# facts = "5.4 (4)"
# extends = "reference"
# also = ["shapes_without_batch"]
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
    table = [("embeddings", tuple(x[0].shape))]
    for i, block in enumerate(model.blocks, start=1):
        x = block(x)
        table.append((f"block {i}", tuple(x[0].shape)))
    x = model.ln_f(x)
    table.append(("final LayerNorm", tuple(x[0].shape)))
    x = model.lm_head(x)
    table.append(("logits", tuple(x[0].shape)))
    return table
