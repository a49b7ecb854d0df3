# /// bank
# about = "the token embedding is a plain tensor, no parameter"
# facts = "own"
# extends = "reference"
# unnamed = "what its logits come from cannot be seen; the hint asks about plain tensors"
# [loses]
# "model.composition" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "failed"
# [bonus]
# "bonus.weight_tying" = "failed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L)
        del self.tok_emb
        self.tok_table = torch.randn(V, d)

    def tok_emb(self, idx):
        return self.tok_table[idx]
