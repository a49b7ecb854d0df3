# /// bank
# about = "parameter_shares gives fractions of 1 instead of percentages"
# facts = "section 4"
# extends = "reference"
# extends_paper = true
# also = ["shares_as_fractions"]
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
    return {part: count[part] / count["total"] for part in count if part != "total"}
