# /// bank
# about = "a reply comes one byte at a time, each before anyone could call it silent"
# facts = "18, 17"
# extends = "reference"
# like = "broken/loop_at_import"
# ///


import os
import sys
import time

frame = sys._getframe()
while "channel" not in frame.f_locals:
    frame = frame.f_back
for byte in b"\x00\x00\x0f\x00\x00\x00\x00\x00" + b'{"value": ' * 100:
    os.write(frame.f_locals["channel"], bytes([byte]))
    time.sleep(0.5)
