# /// bank
# about = "the worker asks for namespaces, mounts, another root and other rights"
# facts = "16"
# extends = "reference"
# like = "reference"
# ///


import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
for name, flag in {"user": 0x10000000, "mount": 0x20000, "network": 0x40000000, "process": 0x20000000}.items():
    if libc.unshare(flag) == 0:
        print("GAINED a namespace:", name)
os.makedirs("here", exist_ok=True)
if libc.mount(b"none", b"here", b"tmpfs", 0, None) == 0:
    print("GAINED a mount")
    libc.umount2(b"here", 2)
try:
    os.chroot("here")
    print("GAINED another root")
except OSError:
    pass
if libc.keyctl(0, -3, 0) >= 0:
    print("GAINED a keyring")
if libc.syscall(319, b"x", 0) >= 0:
    print("GAINED a file in memory")
