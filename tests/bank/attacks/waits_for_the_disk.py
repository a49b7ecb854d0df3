# /// bank
# about = "eight threads flush the disk again and again, which cannot be interrupted"
# extends = "reference"
# like = "reference"
# ///


import ctypes as _ctypes
import os as _os
import threading as _threading

_libc = _ctypes.CDLL(None)


def _write():
    for n in range(400):
        with open(f"{_threading.get_ident()}-{n % 50}", "wb") as file:
            file.write(b"x" * (1 << 20))
        _libc.sync()


for _ in range(8):
    _threading.Thread(target=_write, daemon=True).start()
