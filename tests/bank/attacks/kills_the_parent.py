# /// bank
# about = "the process that everything is forked from is killed"
# facts = "16"
# extends = "reference"
# like = "reference"
# ///


import os
import signal

try:
    os.kill(os.getppid(), signal.SIGKILL)
    print("GAINED the death of the parent", flush=True)
except OSError:
    pass
