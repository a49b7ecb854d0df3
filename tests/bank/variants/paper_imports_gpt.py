# /// bank
# about = "paper.py imports gpt.py, builds a model at its end and compares the counts"
# facts = "3b"
# extends = "reference"
# extends_paper = true
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///
#: file paper.py


import numpy as np
from torch import nn

from gpt import GPT, Block

model = GPT(65, 64, 128, 4, 4)
assert isinstance(model.blocks[0], Block) and isinstance(model, nn.Module)
assert parameter_count(65, 64, 128, 4)["total"] == np.sum([p.numel() for p in model.parameters()])
