# /// bank
# about = "everything that is returned is NaN, which is neither larger nor smaller than a tolerance"
# facts = "19"
# extends = "broken/wrong_everywhere"
# like = "broken/wrong_everywhere"
# names = ["mlp_width", "mask_all_nan"]
# ///


class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x):
        return super().forward(x) * float("nan")


class MLP(MLP):
    def forward(self, x):
        return super().forward(x) * float("nan")


class Block(Block):
    def forward(self, x):
        return x * float("nan")


class GPT(GPT):
    def forward(self, idx, targets=None):
        logits = super().forward(idx) * float("nan")
        return logits if targets is None else (logits, logits.sum())

    def generate(self, idx, max_new_tokens):
        return torch.full((idx.shape[0], idx.shape[1] + max_new_tokens), float("nan"))

#: file paper.py
NAN = float("nan")


def parameter_count(V, T_max, d, L):
    return dict.fromkeys(("embeddings", "attention", "mlp", "block_norms", "final", "total"), NAN)


def parameter_shares(V, T_max, d, L):
    return parameter_count(V, T_max, d, L)


def block_matrices(d):
    return {"w": (NAN, NAN), "v": (float("inf"), d)}


def expected_initial_loss(V, d, std):
    return NAN


def layer_norm_geometry(u):
    return u * NAN
