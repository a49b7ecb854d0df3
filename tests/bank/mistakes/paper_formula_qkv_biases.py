# /// bank
# about = "parameter_count gives q, k and v a bias each"
# facts = "section 4"
# extends = "reference"
# extends_paper = true
# also = ["formula_biases_added"]
# [loses]
# "parameters.formula" = "failed"
# ///
#: file paper.py


def parameter_count(V, T_max, d, L):
    embeddings = V * d + T_max * d
    attention = L * 4 * (d * d + d)
    mlp = L * (d * 4 * d + 4 * d + 4 * d * d + d)
    block_norms = L * 4 * d
    final = 2 * d + V * d
    total = embeddings + attention + mlp + block_norms + final
    return dict(embeddings=embeddings, attention=attention, mlp=mlp, block_norms=block_norms, final=final, total=total)
