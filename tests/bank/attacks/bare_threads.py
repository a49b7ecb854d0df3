# /// bank
# about = "starts four thousand threads on one small stack by the bare system call"
# extends = "reference"
# like = "reference"
# ///


import ctypes as _ctypes
import platform as _platform

_libc = _ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = _ctypes.c_void_p
_libc.mmap.argtypes = [_ctypes.c_void_p, _ctypes.c_size_t, _ctypes.c_int, _ctypes.c_int, _ctypes.c_int, _ctypes.c_long]
_code = _libc.mmap(None, 4096, 7, 0x22, -1, 0)
_stack = _libc.mmap(None, 1 << 16, 3, 0x22, -1, 0)
# mov eax, 56; xor edx, edx; xor r10, r10; xor r8, r8; syscall; test eax, eax; jz child; ret; child: pause() for ever
_text = bytes.fromhex("b838000000" "31d2" "4d31d2" "4d31c0" "0f05" "85c0" "7401" "c3" "b8220000000f05ebf7")
_ctypes.memmove(_code, _text, len(_text))
_start = _ctypes.CFUNCTYPE(_ctypes.c_long, _ctypes.c_ulong, _ctypes.c_ulong)(_code)
FLAGS = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000  # VM, FS, FILES, SIGHAND, THREAD, SYSVSEM
MOST = 4000  # of what would be 32,000
_made, _last = 0, 0
while _made < MOST and _platform.machine() == "x86_64":
    _last = _start(FLAGS, _stack + (1 << 16) - 64)
    if _last < 0:
        break
    _made += 1
print("threads:", _made, "then", _last, flush=True)
if _made > 0:
    print("GAINED", _made, "threads", flush=True)
