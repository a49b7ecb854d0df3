# /// bank
# about = "harmless signals are sent to all that can be reached: parent, grandparent, everyone"
# facts = "16"
# extends = "reference"
# like = "reference"
# ///


import os
import signal

targets = {"parent": os.getppid(), "everyone": -1, "the first process": 1}
try:
    with open(f"/proc/{os.getppid()}/stat") as file:
        targets["grandparent"] = int(file.read().rpartition(")")[2].split()[1])
except OSError:
    pass
for name, target in targets.items():
    try:
        os.kill(target, 0)
        print("GAINED a signal to", name)
    except OSError:
        pass
    try:
        if target > 1:
            signal.pidfd_send_signal(os.pidfd_open(target), signal.SIGWINCH)
            print("GAINED a signal by descriptor to", name)
    except OSError:
        pass
