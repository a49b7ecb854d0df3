# /// bank
# about = "closes every descriptor but the channel, and replaces standard output by a file"
# extends = "reference"
# like = "reference"
# ///


import os as _os

for _fd in (0, 1, 2):
    _os.close(_fd)
_fd = _os.open("output", _os.O_CREAT | _os.O_RDWR)
_os.dup2(_fd, 1)
_os.dup2(_fd, 2)
