# /// bank
# about = "a hidden file is opened in five ways, and printed"
# facts = "6"
# extends = "stub"
# like = "broken/stub"
# ///


import ctypes
import mmap
import os
import shutil
from pathlib import Path


def ways():
    yield lambda: Path("/guarded/secret.txt").read_text()
    yield lambda: os.read(os.open("/guarded/secret.txt", os.O_RDONLY), 1000).decode()
    yield lambda: Path(shutil.copy("/guarded/secret.txt", "copy.txt")).read_text()
    yield lambda: Path("/proc/self/root/guarded/secret.txt".replace("/guarded", "/guarded")).read_text()
    yield lambda: mmap.mmap(os.open("/guarded/secret.txt", os.O_RDONLY), 0, prot=mmap.PROT_READ).read().decode()
    libc = ctypes.CDLL(None)
    text = ctypes.create_string_buffer(1000)
    yield lambda: text.raw[: max(0, libc.read(libc.open(b"/guarded/secret.txt", 0), text, 1000))].decode()


for number, way in enumerate(ways()):
    try:
        if found := way():
            print("GAINED", number, found)
    except (OSError, ValueError):
        pass
