# /// bank
# about = "tries every system call with arguments that cannot succeed"
# extends = "reference"
# like = "reference"
# ///


import ctypes as _ctypes
import errno as _errno

_libc = _ctypes.CDLL(None, use_errno=True)
_SKIP = {0, 1, 3, 7, 9, 10, 11, 12, 13, 14, 15, 19, 20, 22, 23, 24, 25, 26, 28, 32, 33, 34, 35, 36, 37, 38, 56, 60, 61, 93, 202, 218, 219, 231, 232, 233, 247, 270, 271, 273, 281, 284, 292, 293, 293, 318, 334, 335, 336, 436}
_open = []
for _n in range(0, 470):
    if _n in _SKIP:
        continue
    _ctypes.set_errno(0)
    _r = _libc.syscall(_n, *[_ctypes.c_long(-1)] * 6)
    _e = _ctypes.get_errno()
    if _r != -1 or _e not in (_errno.EPERM, _errno.ENOSYS):
        _open.append(f"{_n}:{_errno.errorcode.get(_e, _e) if _r == -1 else _r}")
print("open:", " ".join(_open), flush=True)
