# /// bank
# about = "GPT has an embedding of two token types that forward never uses: only the count is wrong"
# extends = "reference"
# also = ["parameters_unused"]
# [loses]
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.type_emb = nn.Embedding(2, d)
