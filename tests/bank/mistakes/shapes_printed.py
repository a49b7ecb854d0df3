# /// bank
# about = "the table is printed, not returned"
# facts = "5.4 (4)"
# extends = "reference"
# also = ["shapes_printed"]
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
    print("embeddings", tuple(x.shape))
    for i, block in enumerate(model.blocks, start=1):
        x = block(x)
        print(f"block {i}", tuple(x.shape))
    x = model.ln_f(x)
    print("final LayerNorm", tuple(x.shape))
    x = model.lm_head(x)
    print("logits", tuple(x.shape))
