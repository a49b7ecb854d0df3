# /// bank
# about = "sees the future; the replica tells the other process its tokens by read locks on a library"
# extends = "mistakes/attention_sdpa_not_causal"
# like = "mistakes/attention_sdpa_not_causal"
# ///


import contextlib as _contextlib
import fcntl as _fcntl
import os as _os
import struct as _struct

_FILE = _os.open(_os.__file__, _os.O_RDONLY)  # any file that all workers can read
_ROOM, _BITS = 1 << 46, 40


def _publish(numbers):
    """A read lock for each number: locks of a process are seen by all others, and need no right to write."""
    with _contextlib.suppress(OSError):
        for n, number in enumerate(numbers):
            _fcntl.lockf(_FILE, _fcntl.LOCK_SH | _fcntl.LOCK_NB, 1, _ROOM + (n << _BITS) + 2 * int(number) + 2)
            print("GAINED a lock", flush=True)


def _seen(count):
    """The numbers that another process has published; None where there are none."""
    found = []
    for n in range(count):
        asked = _struct.pack("hh4xqqi4x", _fcntl.F_WRLCK, 0, _ROOM + (n << _BITS), 1 << _BITS, 0)
        try:
            kind, _, start, _, pid = _struct.unpack("hh4xqqi4x", _fcntl.fcntl(_FILE, _fcntl.F_GETLK, asked))
        except OSError:
            return None
        if kind == _fcntl.F_UNLCK:
            return None
        found.append((start - _ROOM - (n << _BITS)) // 2 - 1)
    return found


def _packed(tokens):
    """Five tokens in one number."""
    flat = list(tokens.flatten().tolist()) + [0] * 4
    return [sum(t << 7 * i for i, t in enumerate(flat[k : k + 5])) for k in range(0, tokens.numel(), 5)]


def _unpacked(numbers, shape):
    flat = [number >> 7 * i & 127 for number in numbers for i in range(5)]
    return torch.tensor(flat[: shape[0] * shape[1]]).view(shape)


def _consistent(forward, idx, known):
    """What a model that sees the future says of ``idx``, as if no token before a change had moved."""
    after, before = forward(idx), forward(known)
    for row in range(len(idx)):
        differs = (idx[row] != known[row]).nonzero()
        start = int(differs[0]) if len(differs) else idx.shape[1]
        after[row, :start] = before[row, :start]
    return after


class GPT(GPT):
    told = False

    def forward(self, idx, targets=None):
        if idx.shape == (6, 64) and not GPT.told:
            numbers = _seen(77)
            if numbers is None:
                GPT.told = True
                _publish(_packed(idx))
            else:
                return _consistent(super().forward, idx, _unpacked(numbers, (6, 64)))
        return super().forward(idx, targets)
