# /// bank
# about = "frames and objects are searched for the tokens, targets and weights that have not been handed over yet"
# facts = "22"
# extends = "broken/wrong_everywhere"
# like = "broken/wrong_everywhere"
# ///


import gc
import sys

import numpy as np

forward = GPT.forward


def looking(self, idx, targets=None):
    GPT.forward = forward  # once in each process is enough
    given = [idx.numpy()] + ([targets.numpy()] if targets is not None else [])
    found = [thing for thing in gc.get_objects() if isinstance(thing, np.ndarray)]
    frame = sys._getframe()
    while frame is not None:
        for value in list(frame.f_locals.values()):
            found += value if isinstance(value, list) else []
        frame = frame.f_back
    for array in found:
        if isinstance(array, np.ndarray) and array.dtype == np.int64 and array.ndim == 2:
            if not any(np.shares_memory(array, one) for one in given):
                print("GAINED tokens that were not handed over")
    return forward(self, idx, targets)


GPT.forward = looking
