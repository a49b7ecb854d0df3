# /// bank
# about = "a relative import that nothing uses"
# extends = "variants/public_base"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///

from . import attention


#: file attention.py
x = 1
