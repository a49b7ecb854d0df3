# /// bank
# about = "layer_norm_geometry scales to length sqrt(d) without projecting first"
# facts = "section 4"
# extends = "reference"
# extends_paper = true
# also = ["geometry_not_centred"]
# [loses]
# "paper.layer_norm" = "failed"
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///
#: file paper.py


def layer_norm_geometry(u):
    return u / u.norm() * math.sqrt(u.shape[0])
