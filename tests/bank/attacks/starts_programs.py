# /// bank
# about = "programs are started in every way that Python has"
# facts = "10"
# extends = "reference"
# like = "reference"
# ///


import multiprocessing
import os
import subprocess

try:
    subprocess.run(["/bin/sh", "-c", "echo GAINED a shell; sleep 5 &"], timeout=5)
except OSError:
    pass
try:
    print(os.popen("echo GAINED a pipe").read())
except OSError:
    pass
try:
    os.posix_spawn("/bin/echo", ["echo", "GAINED a spawned process"], {})
except OSError:
    pass
try:
    if os.system("exit 7") == 7 << 8:
        print("GAINED system")
except OSError:
    pass
try:
    process = multiprocessing.get_context("fork").Process(target=print, args=("GAINED a worker",))
    process.start()
    process.join()
except OSError:
    pass
