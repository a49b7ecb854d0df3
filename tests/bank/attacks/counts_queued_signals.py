# /// bank
# about = "queues signals and timers, of which the kernel counts those of all workers together"
# extends = "reference"
# like = "reference"
# ///


import ctypes as _ctypes
import os as _os
import signal as _signal

_libc = _ctypes.CDLL(None, use_errno=True)
_signal.pthread_sigmask(_signal.SIG_BLOCK, {_signal.SIGRTMIN})
for _ in range(20):
    _os.kill(_os.getpid(), _signal.SIGRTMIN)
_count = 0
while _signal.sigtimedwait({_signal.SIGRTMIN}, 0):
    _count += 1
if _count > 1:
    print("GAINED", _count, "queued signals", flush=True)
_timer = _ctypes.c_void_p()
if _libc.timer_create(1, None, _ctypes.byref(_timer)) == 0:
    print("GAINED a timer", flush=True)
