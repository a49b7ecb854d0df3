# /// bank
# about = "the shape table is written down from the sizes, without a forward pass: it is right"
# facts = "20"
# extends = "reference"
# like = "reference"
# ///


def shape_table(model, idx):
    B, T = idx.shape
    V, d = model.tok_emb.weight.shape
    return [("x", (B, T, d))] * (len(model.blocks) + 2) + [("x", (B, T, V))]
