# /// bank
# about = "stores bits by which library files are in memory, and reads them in a later process"
# extends = "reference"
# like = "reference"
# ///


import os as _os
import glob as _glob

_root = _os.path.dirname(torch.__file__) + "/include/ATen/ops/"
_files = [_root + name for name in sorted(_os.listdir(_root)) if _os.path.getsize(_root + name) > 0][100:2000:50][:33]


def _cached(path):
    """Whether a file is in memory: a read that may not wait says so."""
    fd = _os.open(path, _os.O_RDONLY)
    try:
        return _os.preadv(fd, [bytearray(1)], 0, _os.RWF_NOWAIT) > 0
    except BlockingIOError:
        return False
    finally:
        _os.close(fd)


def _load(path, bit):
    """Have a file in memory, or not."""
    fd = _os.open(path, _os.O_RDONLY)
    if bit:
        _os.pread(fd, 1, 0)
    else:
        _os.posix_fadvise(fd, 0, 0, _os.POSIX_FADV_DONTNEED)
    _os.close(fd)


_marker, *_bits = _files
if _cached(_marker):
    _number = sum(_cached(path) << n for n, path in enumerate(_bits))
    _load(_marker, False)
    print("GAINED", hex(_number), "left by a process before", flush=True)
else:
    _number = int.from_bytes(_os.urandom(4), "little")
    for _n, _path in enumerate(_bits):
        _load(_path, _number >> _n & 1)
    _load(_marker, True)
    print("sent", hex(_number), flush=True)
