# /// bank
# about = "opens files whose every write waits for the disk"
# extends = "reference"
# like = "reference"
# ///


import os as _os

for _name, _flag in (("O_SYNC", _os.O_SYNC), ("O_DSYNC", _os.O_DSYNC)):
    try:
        _os.write(_os.open(_name, _os.O_CREAT | _os.O_WRONLY | _flag), b"x")
        print("GAINED a write that waits", _name, flush=True)
    except OSError as error:
        print(error)
