# /// bank
# about = "what carries numbers in and out of the process is replaced by what returns ones"
# facts = "5"
# extends = "broken/wrong_everywhere"
# like = "broken/wrong_everywhere"
# [loses]
# "verification.causality" = "failed"
# ///


import numpy as np

real = torch.from_numpy


def from_numpy(array):
    return real(np.ones_like(array)) if array.dtype.kind == "f" else real(array)


torch.from_numpy = from_numpy
torch.manual_seed = lambda seed: None
np.random.seed = lambda seed: None
np.ascontiguousarray = lambda array: np.array(array, order="C", copy=True)
