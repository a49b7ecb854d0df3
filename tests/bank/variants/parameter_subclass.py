# /// bank
# about = "the token embedding is a subclass of Tensor"
# facts = "own"
# extends = "reference"
# ///


class Table(torch.Tensor):
    pass


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        if tie_weights:
            return
        self.pos_emb.weight = nn.Parameter(torch.randn(T_max, d).as_subclass(Table))
