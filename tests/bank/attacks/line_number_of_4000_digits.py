# /// bank
# about = "claims that its definitions are at a line whose number has 4,000 digits"
# extends = "reference"
# like = "reference"
# ///


import sys as _sys


def _worker():
    """The worker's operations, from the frame that serves the channel."""
    frame = _sys._getframe()
    while frame is not None:
        if "operations" in frame.f_locals and "requested" in frame.f_locals:
            return frame.f_locals["operations"]
        frame = frame.f_back


_kind = type(_worker())
_load = _kind.do_load


def do_load(self, module):
    answer = _load(self, module)
    answer["defined"] = {name: (place, 10**4000, ["forward"] if name == "MLP" else stubs) for name, (place, line, stubs) in answer["defined"].items()}
    return answer


_kind.do_load = do_load
