# /// bank
# about = "memory, semaphores and queues that outlive the process are left behind"
# facts = "10"
# extends = "reference"
# like = "reference"
# ///


import ctypes
from multiprocessing import shared_memory

libc = ctypes.CDLL(None, use_errno=True)
number = libc.shmget(0x5AFE, 4096, 0o1600)
if number >= 0:
    print("GAINED shared memory")
    libc.shmctl(number, 0, None)
try:
    block = shared_memory.SharedMemory("left-by-a-submission", create=True, size=4096)
    print("GAINED a named block")
    block.unlink()
except (OSError, FileExistsError):
    pass
