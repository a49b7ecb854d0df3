# /// bank
# about = "the percentages are of the blocks' parameters, not of all"
# facts = "section 4"
# extends = "reference"
# extends_paper = true
# also = ["shares_of_blocks"]
# [loses]
# "parameters.percentages" = "failed"
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///
#: file paper.py


def parameter_shares(V, T_max, d, L):
    count = parameter_count(V, T_max, d, L)
    blocks = count["attention"] + count["mlp"] + count["block_norms"]
    return {part: 100 * number / blocks for part, number in count.items() if part != "total"}
