# /// bank
# about = "ptrace and its relatives are tried on the processes above"
# facts = "16"
# extends = "reference"
# like = "reference"
# ///


import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
parent = os.getppid()
if libc.ptrace(0x4206, parent, None, None) == 0:  # PTRACE_SEIZE, which does not stop it
    print("GAINED a trace of the parent")
word = ctypes.create_string_buffer(8)


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


own, theirs = Vector(ctypes.addressof(word), 8), Vector(id(None), 8)  # forked: the same addresses hold the same
if libc.process_vm_readv(parent, ctypes.byref(own), 1, ctypes.byref(theirs), 1, 0) == 8:
    print("GAINED the parent's memory")
pidfd = libc.syscall(434, parent, 0)
if pidfd >= 0 and libc.syscall(438, pidfd, 1, 0) >= 0:
    print("GAINED a descriptor of the parent")
