# /// bank
# about = "sets its own processors, and looks for another worker that has set them"
# extends = "reference"
# like = "reference"
# ///


import os as _os

_os.sched_setaffinity(0, {0})
_parent = _os.getppid()
for _pid in range(_os.getpid() - 8, _os.getpid()):
    try:
        if _pid != _parent and _os.sched_getaffinity(_pid) == {0}:
            print("GAINED the affinity that another worker has set", _pid, flush=True)
    except OSError:
        pass
