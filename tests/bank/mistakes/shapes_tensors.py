# /// bank
# about = "the rows hold the tensors themselves instead of their shapes"
# facts = "5.4 (4)"
# extends = "reference"
# also = ["shapes_tensors"]
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
    table = [("embeddings", x)]
    for i, block in enumerate(model.blocks, start=1):
        x = block(x)
        table.append((f"block {i}", x))
    x = model.ln_f(x)
    table.append(("final LayerNorm", x))
    table.append(("logits", model.lm_head(x)))
    return table
