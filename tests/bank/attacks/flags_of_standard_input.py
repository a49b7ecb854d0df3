# /// bank
# about = "leaves a bit for other workers in the flags of standard input"
# extends = "reference"
# like = "reference"
# ///


import fcntl as _fcntl
import os as _os

try:
    _flags = _fcntl.fcntl(0, _fcntl.F_GETFL)
    if _flags & _os.O_APPEND:
        print("GAINED a bit that another worker has left", flush=True)
    _fcntl.fcntl(0, _fcntl.F_SETFL, _flags | _os.O_APPEND)
except OSError as error:
    print(error)
