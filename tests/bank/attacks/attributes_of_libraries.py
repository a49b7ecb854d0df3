# /// bank
# about = "stores a bit in the attributes of a library file, which needs no right to write"
# extends = "reference"
# like = "reference"
# ///


import fcntl as _fcntl
import os as _os
import struct as _struct

GET, SET, NO_DUMP = 0x80086601, 0x40086602, 0x40
_fd = _os.open(torch.__file__, _os.O_RDONLY)
try:
    _before = _struct.unpack("l", _fcntl.ioctl(_fd, GET, bytes(8)))[0]
    _fcntl.ioctl(_fd, SET, _struct.pack("l", _before ^ NO_DUMP))
    print("GAINED a bit in the attributes", flush=True)
    _fcntl.ioctl(_fd, SET, _struct.pack("l", _before))
except OSError as error:
    print(error)
