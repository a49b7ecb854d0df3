# /// bank
# about = "QK is W_K W_Q^T: who looks and who is seen change places"
# facts = "bonus"
# extends = "reference"
# also = ["products_transposed"]
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "failed"
# ///


@torch.no_grad()
def qk_ov(mha):
    result = []
    d_head = mha.heads[0].value.weight.shape[0]
    for h, head in enumerate(mha.heads):
        QK = head.key.weight.T @ head.query.weight
        OV = head.value.weight.T @ mha.proj.weight[:, h * d_head:(h + 1) * d_head].T
        result.append((QK, OV))
    return result
