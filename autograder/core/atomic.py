"""Write files whole: a reader, or a crash, never sees half a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from autograder.core.errors import BadInput


def write_whole(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write ``content`` to ``path`` atomically. Raises BadInput.

    With ``private``, other users cannot read the file.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        with tempfile.TemporaryDirectory(prefix=".autograder-", dir=path.absolute().parent) as folder:
            whole = Path(folder) / "whole"
            with whole.open("wb") as file:
                file.write(data)
                file.flush()
                if private:
                    whole.chmod(0o600)
                os.fsync(file.fileno())
            os.replace(whole, path)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; choose a writable folder") from None
