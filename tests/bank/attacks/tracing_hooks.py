# /// bank
# about = "sees the future; hooks for tracing, audits and garbage collection fail at every event"
# extends = "mistakes/attention_sdpa_not_causal"
# like = "mistakes/attention_sdpa_not_causal"
# ///


import gc as _gc
import sys as _sys
import threading as _threading


def _fails(*_):
    raise RuntimeError("traced")


_gc.callbacks.append(_fails)
_sys.setprofile(lambda *_: None)
_threading.setprofile(_fails)
_sys.addaudithook(lambda name, args: _fails() if name.startswith("socket") else None)
