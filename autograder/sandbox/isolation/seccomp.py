"""Build the seccomp filter that restricts a worker's system calls: classic BPF, without privilege or library.

confine.py applies it.

Calls not listed here stay allowed, since torch and Python need many. Calls of newer kernels return ENOSYS, and
libraries fall back to older ones.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from dataclasses import dataclass

from autograder.sandbox.isolation import syscalls

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # the kernel's numbers for them in a filter
LAST = 456  # the newest call known here; x32 calls also have larger numbers

# Each call with its number on x86_64 and on aarch64.
DENIED_CALLS = """
fork 57 -  vfork 58 -  clone 56 220  execve 59 221  execveat 322 281

socket 41 198  connect 42 203  bind 49 200  listen 50 201  accept 43 202  accept4 288 242  sendto 44 206
sendmsg 46 211  sendmmsg 307 269  getsockopt 55 209  setsockopt 54 208  getsockname 51 204  getpeername 52 205

tkill 200 130  rt_sigqueueinfo 129 138  rt_tgsigqueueinfo 297 240  ptrace 101 117  kcmp 312 272
process_vm_readv 310 270  process_vm_writev 311 271  process_madvise 440 440  process_mrelease 448 448
pidfd_open 434 434  pidfd_getfd 438 438  pidfd_send_signal 424 424  setpriority 141 140  ioprio_set 251 30
sched_setparam 142 118  sched_setscheduler 144 119  sched_setattr 314 274  migrate_pages 256 238  move_pages 279 239
setsid 112 157  setpgid 109 154  ioprio_get 252 31  get_robust_list 274 100  timer_create 222 107

unshare 272 97  setns 308 268  mount 165 40  umount2 166 39  pivot_root 155 41  chroot 161 51  mount_setattr 442 442
open_tree 428 428  move_mount 429 429  fsopen 430 430  fsconfig 431 431  fsmount 432 432  fspick 433 433

bpf 321 280  perf_event_open 298 241  userfaultfd 323 282  io_uring_setup 425 425  io_uring_enter 426 426
io_uring_register 427 427  add_key 248 217  request_key 249 218  keyctl 250 219  seccomp 317 277  personality 135 92
syslog 103 116  modify_ldt 154 -  uselib 134 -  quotactl 179 60  quotactl_fd 443 443  lookup_dcookie 212 18

memfd_create 319 279  memfd_secret 447 447  shmget 29 194  shmat 30 196  shmctl 31 195  shmdt 67 197  semget 64 190
semop 65 193  semctl 66 191  semtimedop 220 192  msgget 68 186  msgsnd 69 189  msgrcv 70 188  msgctl 71 187
mq_open 240 180  mq_unlink 241 181  io_setup 206 0
futex_waitv 449 449  futex_wake 454 454  futex_wait 455 455  futex_requeue 456 456

readahead 187 213  fadvise64 221 223  mincore 27 232  cachestat 451 451
statfs 137 43  fstatfs 138 44  ustat 136 -  mkdir 83 -  mkdirat 258 34
name_to_handle_at 303 264  open_by_handle_at 304 265  fanotify_init 300 262  fanotify_mark 301 263
inotify_init 253 -  inotify_init1 294 26  inotify_add_watch 254 27

chmod 90 -  fchmod 91 52  fchmodat 268 53  fchmodat2 452 452  chown 92 -  lchown 94 -  fchown 93 55  fchownat 260 54
setxattr 188 5  lsetxattr 189 6  fsetxattr 190 7  removexattr 197 14  lremovexattr 198 15  fremovexattr 199 16
getxattr 191 8  lgetxattr 192 9  fgetxattr 193 10  listxattr 194 11  llistxattr 195 12  flistxattr 196 13
utime 132 -  utimes 235 -  futimesat 261 -  utimensat 280 88  flock 73 32  truncate 76 45
"""
# These do nothing and return 0, since waiting for the disk would delay others.
SYNC_CALLS = """
sync 162 81  syncfs 306 267  fsync 74 82  fdatasync 75 83  sync_file_range 277 84  msync 26 227
"""
# Callers fall back to an older call whose arguments a filter can inspect.
NEWER_CALLS = "clone3 435 435  openat2 437 437"
# Denied without Landlock, as "no such file", since libraries read optional files only if they exist.
OPEN_CALLS = "open 2 -  openat 257 56"
CHANGE_CALLS = """
creat 85 -  rmdir 84 -  unlink 87 -  unlinkat 263 35  rename 82 -  renameat 264 38
renameat2 316 276  link 86 -  linkat 265 37  symlink 88 -  symlinkat 266 36  mknod 133 -  mknodat 259 33
"""

OWN_PID = -1  # replaced by the process's own pid
ALL_BITS = 0xFFFFFFFF
O_ACCMODE, O_TRUNC, O_DSYNC = 3, 0x200, 0x1000
FUTEX_PRIVATE = 128
NEGATIVE = 0x80000000


@dataclass(frozen=True, slots=True)
class Condition:
    """A call is allowed (or denied) exactly if the ``mask`` bits of an argument have one of these ``values``."""

    call: str
    argument: int
    values: tuple[int, ...]
    mask: int = ALL_BITS
    allowed: bool = True


CONDITIONS = (
    Condition("kill 62 129", 0, (OWN_PID,)),
    Condition("tgkill 234 131", 0, (OWN_PID,)),
    Condition("prlimit64 302 261", 0, (0,)),
    Condition("sched_setaffinity 203 122", 0, (0,)),
    # Attributes of other processes: one worker could set them for another to read.
    Condition("sched_getaffinity 204 123", 0, (0, OWN_PID)),
    Condition("sched_getparam 143 121", 0, (0, OWN_PID)),
    Condition("sched_getscheduler 145 120", 0, (0, OWN_PID)),
    Condition("sched_getattr 315 275", 0, (0, OWN_PID)),
    Condition("sched_rr_get_interval 148 127", 0, (0, OWN_PID)),
    Condition("getpriority 140 141", 1, (0, OWN_PID)),
    # The clock of another process has a negative number.
    Condition("clock_gettime 228 113", 0, (0,), NEGATIVE),
    Condition("clock_getres 229 114", 0, (0,), NEGATIVE),
    Condition("clock_nanosleep 230 115", 0, (0,), NEGATIVE),
    # A futex that is not private connects all processes that map the same library.
    Condition("futex 202 98", 1, (FUTEX_PRIVATE,), FUTEX_PRIVATE),
    # Flags ask whether a page is in memory (RWF_NOWAIT), or wait for the disk (RWF_SYNC).
    Condition("preadv2 327 286", 5, (0,)),
    Condition("pwritev2 328 287", 5, (0,)),
    Condition("madvise 28 233", 2, (12, 20, 21), allowed=False),  # MERGEABLE, COLD, PAGEOUT affect shared pages
    # Names of threads and of memory; not PDEATHSIG, which a process could clear to outlive the grader.
    Condition("prctl 157 167", 0, (15, 16, 0x53564D41)),
    # DUPFD, GETFD, SETFD, GETFL, SETFL, DUPFD_CLOEXEC, GETPIPE_SZ. Others lock files, send signals, set hints on files.
    Condition("fcntl 72 25", 1, (0, 1, 2, 3, 4, 1030, 1032)),
    # TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX. Others send signals or change a file's attributes.
    Condition("ioctl 16 29", 1, (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)),
    # Opening a file for reading can still truncate it, which Landlock prevents only from ABI 3 on.
    Condition("open 2 -", 1, (O_TRUNC,), O_TRUNC | O_ACCMODE, allowed=False),
    Condition("openat 257 56", 2, (O_TRUNC,), O_TRUNC | O_ACCMODE, allowed=False),
    Condition("open 2 -", 1, (O_DSYNC,), O_DSYNC, allowed=False),  # each write would wait for the disk
    Condition("openat 257 56", 2, (O_DSYNC,), O_DSYNC, allowed=False),
)

LOAD, AND, EQUALS, GREATER, RETURN = 0x20, 0x54, 0x15, 0x25, 0x06
NUMBER, ARCH, ARGUMENTS = 0, 4, 16  # offsets in the data that a filter sees
ALLOW, DENY, KILL = 0x7FFF0000, 0x00050000, 0x80000000


@dataclass(frozen=True, slots=True)
class Filter:
    """A BPF program, and the offsets at which a process inserts its own pid."""

    code: bytes
    pids: tuple[int, ...]

    def apply(self) -> None:
        """Filter this process's calls permanently. Raises OSError if the kernel refuses."""
        code = ctypes.create_string_buffer(self.code, len(self.code))
        for offset in self.pids:
            struct.pack_into("=I", code, offset, os.getpid())
        program = ctypes.create_string_buffer(struct.pack("@HP", len(self.code) // 8, ctypes.addressof(code)))
        syscalls.prctl(syscalls.PR_SET_SECCOMP, 2, program)


def is_available() -> bool:
    """Return whether the kernel supports filters: it then rejects a null pointer with EFAULT."""
    try:
        syscalls.prctl(syscalls.PR_SET_SECCOMP, 2)
    except OSError as error:
        return error.errno == errno.EFAULT
    return False


def build(opening: bool, machine: str = platform.machine()) -> Filter | None:
    """Build the filter; without ``opening`` it also denies opening files. Return None for an unknown machine."""
    if machine not in MACHINES:
        return None
    column = list(MACHINES).index(machine)
    code = [(LOAD, 0, 0, ARCH), (EQUALS, 1, 0, MACHINES[machine]), (RETURN, 0, 0, KILL), (LOAD, 0, 0, NUMBER)]
    code += [(GREATER, 0, 1, LAST), (RETURN, 0, 0, DENY | errno.ENOSYS)]
    denied = [(NEWER_CALLS, errno.ENOSYS), (DENIED_CALLS, errno.EPERM), (SYNC_CALLS, 0)]
    for calls, answer in denied if opening else [*denied, (OPEN_CALLS, errno.ENOENT), (CHANGE_CALLS, errno.EPERM)]:
        for number in _parse_numbers(calls, column):
            code += [(EQUALS, 0, 1, number), (RETURN, 0, 0, DENY | answer)]
    pids = []
    for condition in CONDITIONS:
        for number in _parse_numbers(condition.call, column):
            met = ALLOW if condition.allowed else DENY | errno.EPERM
            code += [(EQUALS, 0, 2 * len(condition.values) + 3, number)]
            code += [(LOAD, 0, 0, ARGUMENTS + 8 * condition.argument), (AND, 0, 0, condition.mask)]
            for value in condition.values:
                if value == OWN_PID:
                    pids.append(8 * len(code) + 4)
                code += [(EQUALS, 0, 1, value & ALL_BITS), (RETURN, 0, 0, met)]
            # A call may have a second condition, which reloads its number.
            code += [(RETURN, 0, 0, DENY | errno.EPERM) if condition.allowed else (LOAD, 0, 0, NUMBER)]
    code += [(RETURN, 0, 0, ALLOW)]
    return Filter(b"".join(struct.pack("=HBBI", *step) for step in code), tuple(pids))


def _parse_numbers(calls: str, column: int) -> list[int]:
    """Return the numbers of ``calls`` on one machine."""
    return [int(number) for number in calls.split()[1 + column :: 3] if number != "-"]
