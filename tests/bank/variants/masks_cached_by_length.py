# /// bank
# about = "masks kept in a table of the module, by their length alone, in the type of the first scores that needed one"
# extends = "reference"
# [bonus]
# "bonus.qk_ov" = "failed"
# ///

MASKS = {}


def mask_like(scores):
    T = scores.shape[-1]
    if T not in MASKS:
        MASKS[T] = torch.full_like(scores[0], float("-inf")).triu(1)
    return MASKS[T]


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.query, self.key, self.value = (nn.ModuleList(nn.Linear(d, d // H, bias=False) for _ in range(H)) for _ in "qkv")
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        heads = []
        for query, key, value in zip(self.query, self.key, self.value):
            scores = query(x) @ key(x).transpose(1, 2) / query.out_features**0.5
            heads.append((scores + mask_like(scores)).softmax(-1) @ value(x))
        return self.proj(torch.cat(heads, dim=-1))
