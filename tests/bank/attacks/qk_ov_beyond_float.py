# /// bank
# about = "qk_ov returns products near the largest number"
# facts = "19"
# extends = "reference"
# [bonus]
# "bonus.qk_ov" = "failed"
# ///


def qk_ov(mha):
    d = mha.proj.weight.shape[0]
    huge = torch.full((d, d), 1e308, dtype=torch.float64)
    return [(huge, -huge) for _ in mha.heads]
