# /// bank
# about = "processes that fork again, fifty at most, each of which lives for some seconds"
# facts = "18"
# extends = "reference"
# like = "reference"
# ///


import os
import time

for _ in range(50):
    try:
        pid = os.fork()
    except OSError:
        break
    if pid == 0:
        try:
            os.setsid()
            time.sleep(6)
        finally:
            os._exit(0)
    print("GAINED a process")
