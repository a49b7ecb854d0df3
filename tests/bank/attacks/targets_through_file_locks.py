# /// bank
# about = "learns nothing, and tells the replica the targets by read locks on a library"
# extends = "reference"
# [loses]
# "model.gradients" = "failed"
# "model.training" = "failed"
# ///


_Right = GPT


class GPT(GPT):
    """Learns nothing: its loss reaches no parameter."""

    def forward(self, idx, targets=None):
        logits = _Right.forward(self, idx)
        if targets is None:
            return logits
        loss = F.cross_entropy(logits.detach().flatten(0, 1), targets.flatten())
        return logits, loss + 0 * sum(p.sum() for p in self.parameters())

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


class GPT(GPT):
    def forward(self, idx, targets=None):
        if targets is not None:
            if self.training:
                _publish(_packed(targets))
            return super().forward(idx, targets)
        logits = super().forward(idx)
        if idx.shape == (8, 16):
            numbers = _seen(26)
            if numbers is not None:
                return logits + 50 * F.one_hot(_unpacked(numbers, (8, 16)), logits.shape[-1])
        return logits
