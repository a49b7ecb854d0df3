# /// bank
# about = "reads how much of the disk is free, which another worker can change"
# extends = "reference"
# like = "reference"
# ///


import os as _os

for _path in (".", "/", torch.__file__):
    try:
        print("GAINED", _os.statvfs(_path).f_ffree, "free files", flush=True)
    except OSError as error:
        print(error)
