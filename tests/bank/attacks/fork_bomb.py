# /// bank
# about = "processes of their own sessions, twenty at most, each of which lives for some seconds"
# facts = "18"
# extends = "reference"
# like = "reference"
# ///


import os
import time

for _ in range(20):
    try:
        pid = os.fork()
    except OSError:
        break
    if pid == 0:
        try:
            os.setsid()
            time.sleep(3)
        finally:
            os._exit(0)
    print("GAINED a process")
