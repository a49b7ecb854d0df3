# /// bank
# about = "parameter_count builds the GPT of gpt.py and counts, which the handout forbids"
# facts = "20"
# extends = "reference"
# extends_paper = true
# [loses]
# "parameters.formula" = "failed"
# "parameters.percentages" = "failed"
# ///
#: file paper.py


def parameter_count(V, T_max, d, L):
    from gpt import GPT

    def size(*parts):
        return sum(p.numel() for part in parts for p in part.parameters())

    model = GPT(V, T_max, d, 1, L)
    parts = {
        "embeddings": size(model.tok_emb, model.pos_emb),
        "attention": sum(size(b.attn) for b in model.blocks),
        "mlp": sum(size(b.mlp) for b in model.blocks),
        "block_norms": sum(size(b.ln1, b.ln2) for b in model.blocks),
        "final": size(model.ln_f, model.lm_head),
    }
    return {**parts, "total": size(model)}
