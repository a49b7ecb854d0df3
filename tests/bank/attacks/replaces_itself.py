# /// bank
# about = "the worker executes another program in its place"
# facts = "10"
# extends = "reference"
# ///


import os

try:
    os.execv("/bin/sh", ["sh", "-c", "echo GAINED another program; sleep 1"])
except OSError:
    pass
