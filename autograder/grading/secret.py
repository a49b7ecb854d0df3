"""Manage the secret that seeds the hidden inputs.

On a student's machine it is public. For grades that count, it is random and known only to the grader. A seed chosen
by a person is only mixed in, since the first hidden input would reveal a small number.
"""

from __future__ import annotations

import contextlib
import hmac
import secrets
from pathlib import Path

from autograder.core.atomic import write_whole
from autograder.core.errors import BadInput

PUBLIC = b"public"
SIZE = 32  # bytes of randomness, written as text
MIN_SIZE = 16  # bytes of a secret that someone else chose


def draw() -> bytes:
    """Return a new secret from the operating system."""
    return secrets.token_hex(SIZE).encode()


def read(path: Path, shown: str, remedy: str) -> bytes:
    """Return the secret in ``path``, called ``shown`` in messages. Raises BadInput with the ``remedy``."""
    try:
        secret = path.read_bytes().strip()
    except OSError as error:
        raise BadInput(f"{shown}: {error.strerror}; {remedy}") from None
    if len(secret) < MIN_SIZE:
        raise BadInput(f"{shown}: shorter than {MIN_SIZE} bytes, so it can be guessed; make a longer one")
    return secret


def read_or_create(path: Path) -> bytes:
    """Return the secret in ``path``; create it if absent, readable only by its owner. Raises BadInput."""
    if not path.exists():
        write_whole(path, draw() + b"\n", private=True)
    with contextlib.suppress(OSError):  # copying the folder may have made it world-readable
        path.chmod(0o600)
    return read(path, str(path), "make it readable")


def mix(secret: bytes, seed: int | None) -> bytes:
    """Return the secret for grading with ``seed``; neither can be recovered from it."""
    return secret if seed is None else hmac.digest(secret, f"seed {seed}".encode(), "sha256")


def identify(secret: bytes) -> str:
    """Return the id of ``secret`` for reports: gradings with the same hidden inputs share it."""
    return hmac.digest(secret, b"seed id", "sha256").hex()[:12]
