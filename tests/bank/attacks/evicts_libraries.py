# /// bank
# about = "has pages of libraries removed from memory, or read ahead, to slow others down"
# extends = "reference"
# like = "reference"
# ///


import ctypes as _ctypes
import mmap as _mmap
import os as _os

_libc = _ctypes.CDLL(None, use_errno=True)
_fd = _os.open(torch.__file__, _os.O_RDONLY)
_map = _mmap.mmap(_fd, 4096, _mmap.MAP_PRIVATE, _mmap.PROT_READ)
for _name, _try in (
    ("pageout", lambda: _map.madvise(21)),
    ("cold", lambda: _map.madvise(20)),
    ("fadvise", lambda: _os.posix_fadvise(_fd, 0, 0, _os.POSIX_FADV_DONTNEED)),
):
    try:
        _try()
        print("GAINED", _name, flush=True)
    except OSError as error:
        print(_name, error)
if _libc.readahead(_fd, _ctypes.c_long(0), _ctypes.c_size_t(4096)) == 0:
    print("GAINED readahead", flush=True)
