# /// bank
# about = "reads extended attributes of files that it cannot open"
# extends = "reference"
# like = "reference"
# ///


import os as _os

for _path in ("/etc/passwd", "/etc/hostname", "/root", "/etc/shadow", "/etc/mtab", "/guarded/secret.txt", torch.__file__):
    try:
        print("GAINED attributes of", _path, _os.listxattr(_path), flush=True)
    except OSError as error:
        print(_path, error.strerror)
    try:
        print("GAINED an attribute of", _path, _os.getxattr(_path, "user.mime_type"), flush=True)
    except OSError as error:
        print(_path, error.strerror)
