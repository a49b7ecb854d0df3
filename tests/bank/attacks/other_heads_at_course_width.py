# /// bank
# about = "attention splits the width of the course into twice as many heads, which no shape shows"
# extends = "variants/nanogpt_style"
# [loses]
# "model.composition" = "failed"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///


_init = MultiHeadAttention.__init__


def _doubled(self, d, H, T_max):
    _init(self, d, 2 * H if d == 128 else H, T_max)


MultiHeadAttention.__init__ = _doubled
