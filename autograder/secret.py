"""The secret that the hidden inputs are drawn from.

It is public on a student's machine. Where grades count it is random and known to the grader alone; a seed that a person
chose is only mixed with it, since small numbers can be guessed from the first hidden input.
"""

from __future__ import annotations

import contextlib
import hmac
import secrets
from pathlib import Path

from autograder.files import BadInput, write_whole

PUBLIC = b"public"
SIZE = 32  # bytes of randomness, written as text
SHORTEST = 16  # bytes of a secret that someone else made


def draw() -> bytes:
    """Return a new secret from the operating system."""
    return secrets.token_hex(SIZE).encode()


def read(path: Path, shown: str, remedy: str) -> bytes:
    """Return the secret in ``path``, which messages call ``shown``. Raises BadInput with the ``remedy``."""
    try:
        secret = path.read_bytes().strip()
    except OSError as error:
        raise BadInput(f"{shown}: {error.strerror}; {remedy}") from None
    if len(secret) < SHORTEST:
        raise BadInput(f"{shown}: shorter than {SHORTEST} bytes, so it can be guessed; make a longer one")
    return secret


def keep(path: Path) -> bytes:
    """Return the secret in ``path``, drawn anew if there is none; only the owner can read it. Raises BadInput."""
    if not path.exists():
        write_whole(path, draw() + b"\n", private=True)
    with contextlib.suppress(OSError):  # a copy of the folder may have made it readable for all
        path.chmod(0o600)
    return read(path, str(path), "make it readable")


def mix(secret: bytes, seed: int | None) -> bytes:
    """Return the secret of a grading with ``seed``, from which neither can be told."""
    return secret if seed is None else hmac.digest(secret, f"seed {seed}".encode(), "sha256")


def identify(secret: bytes) -> str:
    """Return what a report says of ``secret``: gradings with the same hidden inputs have the same."""
    return hmac.digest(secret, b"seed id", "sha256").hex()[:12]
