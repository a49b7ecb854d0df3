# /// bank
# about = "asks for shared and exclusive locks on files that everyone reads"
# extends = "reference"
# like = "reference"
# ///


import fcntl as _fcntl
import os as _os

for _path in (_os.__file__, torch.__file__, "/etc/localtime", "/dev/urandom", "/dev/null"):
    try:
        _fd = _os.open(_path, _os.O_RDWR if _path == "/dev/null" else _os.O_RDONLY)
    except OSError as error:
        print(_path, error)
        continue
    for _kind, _name in ((_fcntl.LOCK_SH, "shared"), (_fcntl.LOCK_EX, "exclusive")):
        try:
            _fcntl.lockf(_fd, _kind | _fcntl.LOCK_NB)
            print("GAINED a lock:", _name, _path, flush=True)
        except OSError as error:
            print(_path, _name, error)
