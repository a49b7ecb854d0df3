# /// bank
# about = "makes pipes as large as they can be, until other processes of the user get small ones"
# extends = "reference"
# like = "reference"
# ///


import fcntl as _fcntl
import os as _os

try:
    for _ in range(20):
        _, _end = _os.pipe()
        _fcntl.fcntl(_end, 1031, 1 << 20)  # F_SETPIPE_SZ
        print("GAINED a pipe of 1 MB", flush=True)
except OSError as error:
    print(error)
