# /// bank
# about = "leaves 2,000 empty files to list and to remove"
# extends = "reference"
# like = "reference"
# ///


import os as _os

for _n in range(2_000):
    _os.close(_os.open(f"{_n}", _os.O_CREAT | _os.O_WRONLY))
