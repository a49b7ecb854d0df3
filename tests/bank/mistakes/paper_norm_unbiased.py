# /// bank
# about = "layer_norm_geometry divides by the unbiased standard deviation: length sqrt(d - 1)"
# facts = "section 4"
# extends = "reference"
# extends_paper = true
# also = ["geometry_unbiased"]
# [loses]
# "paper.layer_norm" = "failed"
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///
#: file paper.py


def layer_norm_geometry(u):
    flat = u - u.mean()
    return flat / flat.std()
