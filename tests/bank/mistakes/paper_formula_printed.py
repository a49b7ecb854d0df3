# /// bank
# about = "parameter_count prints its numbers and returns nothing; the percentages are worked out apart"
# facts = "section 4"
# extends = "reference"
# extends_paper = true
# also = ["formula_printed"]
# [loses]
# "parameters.formula" = "failed"
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///
#: file paper.py


def count(V, T_max, d, L):
    return {
        "embeddings": V * d + T_max * d,
        "attention": L * (4 * d**2 + d),
        "mlp": L * (8 * d**2 + 5 * d),
        "block_norms": 4 * d * L,
        "final": 2 * d + V * d,
    }


def parameter_count(V, T_max, d, L):
    parts = count(V, T_max, d, L)
    for name, number in parts.items():
        print(name, number)
    print("total", sum(parts.values()))


def parameter_shares(V, T_max, d, L):
    parts = count(V, T_max, d, L)
    return {name: number / sum(parts.values()) * 100 for name, number in parts.items()}
