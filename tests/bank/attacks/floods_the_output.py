# /// bank
# about = "four megabytes are printed, without a line end, on both streams"
# facts = "18"
# extends = "reference"
# like = "reference"
# ///


import os
import sys

for _ in range(40):
    sys.stdout.write("\x1b[31m" * 10000)
    sys.stderr.write("x" * 50000)
sys.stdout.flush()
sys.stderr.flush()
