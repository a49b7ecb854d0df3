# /// bank
# about = "the unembedding is initialised too wide, and the operation that reports initial weights makes it smaller"
# extends = "mistakes/init_std_0_2"
# like = "mistakes/init_std_0_2"
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
_pull = _kind.do_pull


def do_pull(self, number):
    values = _pull(self, number)
    for name, value in values.items():
        if value.shape == (65, 128) and "head" in name and abs(value.std() - 0.2) < 0.02:
            values[name] = value / 8
    return values


_kind.do_pull = do_pull
