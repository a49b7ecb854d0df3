# /// bank
# about = "stores bits in the write-life hint of a library file"
# extends = "reference"
# like = "reference"
# ///


import fcntl as _fcntl
import os as _os
import struct as _struct

_fd = _os.open(torch.__file__, _os.O_RDONLY)
for _name, _command in (("sets", 1036), ("reads", 1035)):  # F_SET_RW_HINT, F_GET_RW_HINT
    try:
        _fcntl.fcntl(_fd, _command, _struct.pack("Q", 2))
        print("GAINED:", _name, "a hint", flush=True)
    except OSError as error:
        print(error)
