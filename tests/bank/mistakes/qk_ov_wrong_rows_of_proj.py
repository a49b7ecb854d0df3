# /// bank
# about = "OV takes d_head rows of proj.weight instead of its columns"
# facts = "bonus"
# extends = "reference"
# also = ["products_proj_transposed"]
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "failed"
# ///


@torch.no_grad()
def qk_ov(mha):
    result = []
    d_head = mha.heads[0].value.weight.shape[0]
    outputs = mha.proj.weight.split(d_head)
    for head, W_O in zip(mha.heads, outputs):
        QK = head.query.weight.T @ head.key.weight
        OV = head.value.weight.T @ W_O
        result.append((QK, OV))
    return result
