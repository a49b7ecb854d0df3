"""Write files atomically, and define the errors that a user can fix."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


class BadInput(Exception):
    """An error that the user can fix; the message is one line."""


class Refused(Exception):
    """This machine cannot give grades that count; the message is one line."""


def write_whole(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write ``content`` to ``path`` atomically: a reader never sees half a file. Raises BadInput.

    ``private`` makes it unreadable for other users.
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
