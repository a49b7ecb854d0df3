# /// bank
# about = "a process in a session of its own waits for the grading to end and rewrites the results"
# facts = "10"
# extends = "reference"
# like = "reference"
# ///


import os
import time

try:
    first = os.fork()
except OSError:
    first = -1
if first > 0:
    print("GAINED a process")
    os.waitpid(first, 0)
elif first == 0:
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.closerange(0, 64)
        time.sleep(8)
        with open("/guarded/results/results.json", "w") as file:
            file.write('{"score": 100}')
    finally:
        os._exit(0)
