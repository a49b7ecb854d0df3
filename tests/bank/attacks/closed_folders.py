# /// bank
# about = "leaves folders that their owner cannot list or enter, with files in them"
# extends = "reference"
# like = "reference"
# ///


import os

for _n in range(20):
    os.mkdir(f"closed{_n}", 0o300)  # may be entered and written to, not listed
    for _m in range(20):
        with open(f"closed{_n}/{_m}", "wb") as _file:
            _file.write(b"x" * (1 << 19))
os.mkdir("shut", 0)
