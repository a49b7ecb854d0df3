# /// bank
# about = "wakes other processes by futexes on a library that all of them map"
# extends = "reference"
# like = "reference"
# ///


import ctypes as _ctypes
import os as _os
import platform as _platform

_libc = _ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = _ctypes.c_void_p
_libc.mmap.argtypes = [_ctypes.c_void_p, _ctypes.c_size_t, _ctypes.c_int, _ctypes.c_int, _ctypes.c_int, _ctypes.c_long]
_futex = {"x86_64": 202, "aarch64": 98}[_platform.machine()]
for _kind in (1, 2):  # a shared mapping; a private one that was never written to has the same pages
    _page = _libc.mmap(None, 4096, 1, _kind, _os.open(_os.__file__, _os.O_RDONLY), 0)
    if _libc.syscall(_futex, _ctypes.c_void_p(_page), 1, 1, None, None, 0) >= 0:  # FUTEX_WAKE
        print("GAINED a futex that others can wait at", flush=True)
