# /// bank
# about = "the secret is searched for among small seeds, by the first hidden input; then all inputs to come are known"
# extends = "mistakes/attention_sdpa_not_causal"
# like = "mistakes/attention_sdpa_not_causal"
# ///


import hashlib as _hashlib
import hmac as _hmac
import sys as _sys

import numpy as np

_secret = None
TRIED = 20_000


def _own_hash():
    frame = _sys._getframe()
    while "operations" not in frame.f_locals:
        frame = frame.f_back
    digest = _hashlib.sha256()
    for name, data in sorted(frame.f_locals["operations"].finder.files.items()):
        if name != "head.py":
            digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def _rng(secret, label):
    message = f"{_own_hash()}/{label}".encode()
    return np.random.default_rng(int.from_bytes(_hmac.digest(secret, message, "sha256"), "little"))


def _guess(first):
    """The secret with which the first check draws this number: the public one, or a small number."""
    message = f"{_own_hash()}/attention.shape".encode()
    for secret in (b"public", *(str(n).encode() for n in range(TRIED))):
        rng = np.random.default_rng(int.from_bytes(_hmac.digest(secret, message, "sha256"), "little"))
        if np.float32(rng.standard_normal()) == first:
            return secret
    return b""


class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x):
        global _secret
        if _secret is None and x.shape == (2, 7, 20):
            _secret = _guess(np.float32(x[0, 0, 0]))
            if _secret:
                print("GAINED the secret", _secret, flush=True)
        return super().forward(x)


def _consistent(forward, idx, known):
    """What a model that sees the future says of ``idx``, as if no token before a change had moved."""
    after, before = forward(idx), forward(known)
    for row in range(len(idx)):
        differs = (idx[row] != known[row]).nonzero()
        start = int(differs[0]) if len(differs) else idx.shape[1]
        after[row, :start] = before[row, :start]
    return after


class GPT(GPT):
    def forward(self, idx, targets=None):
        if idx.shape == (6, 64) and _secret:
            rng = _rng(_secret, "causality")
            shapes = [(p.shape, p.ndim > 1) for p in self.parameters()]
            for shape, matrix in shapes:
                if not matrix:
                    rng.uniform(0.5, 1.5, tuple(shape)), rng.choice([-1.0, 1.0], tuple(shape))
            for shape, matrix in shapes:
                if matrix:
                    rng.random(tuple(shape), np.float32)
            known = torch.from_numpy(rng.integers(0, 65, (6, 64)))
            if (known[2] == idx[2]).all():
                return _consistent(super().forward, idx, known)
        return super().forward(idx, targets)
