"""Files that are written whole, and the errors that stand for what the user can mend."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


class BadInput(Exception):
    """Something the user can mend; the message is one line."""


class Refused(Exception):
    """This is no place for grades that count; the message is one line."""


def write_whole(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """``content`` into ``path``, all of it or nothing: a reader never sees half a file. Raises BadInput.

    ``private`` keeps it from other users.
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
        raise BadInput(f"{path}: {error.strerror}; choose a place that can be written to") from None
