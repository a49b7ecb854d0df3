# /// bank
# about = "block_matrices lists q and k head by head, and v as nn.Linear keeps it"
# facts = "3b"
# extends = "reference"
# extends_paper = true
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///
#: file paper.py


def block_matrices(d):
    heads = {f"{name}{h}": (d, d // 4) for name in ("W_Q", "W_K") for h in range(4)}
    return {**heads, "W_V": torch.Size([d, d]), "W_O": (d, d), "up": (4 * d, d), "down": (d, 4 * d)}
