# /// bank
# about = "asks the channel for the process at the other end, and for a handle of it"
# extends = "reference"
# like = "reference"
# ///


import os as _os
import socket as _socket
import struct as _struct

for _fd in range(3, 64):
    try:
        _s = _socket.socket(fileno=_os.dup(_fd))
    except OSError:
        continue
    try:
        print("GAINED the peer", _struct.unpack("iii", _s.getsockopt(_socket.SOL_SOCKET, 17, 12)), flush=True)
    except OSError as error:
        print("peercred", error)
    try:
        _pidfd = _s.getsockopt(_socket.SOL_SOCKET, 77)
        print("GAINED a handle of the process", _pidfd, flush=True)
        import ctypes as _ctypes
        _libc = _ctypes.CDLL(None, use_errno=True)
        for _name, _call in (("signal", (424, _pidfd, 0, None, 0)), ("getfd", (438, _pidfd, 3, 0)), ("setns", (308, _pidfd, 0x10000000)), ("madvise", (440, _pidfd, None, 0, 21, 0))):
            if _libc.syscall(*_call) >= 0:
                print("GAINED by the handle:", _name, flush=True)
    except OSError as error:
        print("peerpidfd", error)
    _s.detach()
