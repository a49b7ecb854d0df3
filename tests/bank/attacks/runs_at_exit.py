# /// bank
# about = "hooks for the end of the process and of its threads rewrite the results"
# facts = "3"
# extends = "reference"
# like = "reference"
# ///


import atexit
import signal
import sys
import threading
import weakref


def rewrite(*_):
    with open("/guarded/results/results.json", "w") as file:
        file.write('{"score": 100}')
    print("GAINED the results", flush=True)


class Thing:
    pass


thing = Thing()
atexit.register(rewrite)
threading._register_atexit(rewrite)
weakref.finalize(thing, rewrite)
sys.excepthook = sys.unraisablehook = threading.excepthook = rewrite
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGCHLD):
    signal.signal(number, rewrite)
