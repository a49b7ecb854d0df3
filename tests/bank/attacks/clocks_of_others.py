# /// bank
# about = "reads the CPU clocks of the processes above and beside, by which others can send bits"
# extends = "reference"
# like = "reference"
# ///


import os as _os
import time as _time

for _pid in {_os.getppid(), *range(_os.getpid() - 8, _os.getpid())}:
    for _kind in (0, 1, 2):
        try:
            print("GAINED the clock of", _pid, _time.clock_gettime(~_pid << 3 | _kind), flush=True)
        except OSError as error:
            print(error)
