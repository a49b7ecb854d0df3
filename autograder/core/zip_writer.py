"""Write zip files reproducibly."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass

EPOCH = (2026, 1, 1, 0, 0, 0)  # so the same files always give the same bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """A file to write: its bytes and its mode."""

    data: bytes
    mode: int = 0o644


def zip_entries(entries: dict[str, Entry]) -> bytes:
    """Return a zip file of ``entries`` that keeps their modes even if built on Windows."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, entry in sorted(entries.items()):
            info = zipfile.ZipInfo(name, EPOCH)
            info.create_system = 3  # Unix, or modes are ignored
            info.external_attr = (0o100000 | entry.mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, entry.data)
    return buffer.getvalue()
