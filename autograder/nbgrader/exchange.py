"""Send the package to students only once, beside the notebook, not back and forth with each submission."""

from __future__ import annotations

import shutil
from pathlib import Path

from nbgrader.exchange.default import ExchangeCollect
from nbgrader.utils import temp_attrs

PACKAGE = "autograder"


class Collect(ExchangeCollect):  # type: ignore[misc]
    """The collect step of nbgrader and Formgrader that leaves the student's copy of the package in the exchange."""

    def do_copy(self, src: str, dest: str, log: object = None) -> None:
        """Copy a submission unless it contains a link, which nbgrader would follow; failures do not stop the others."""
        links = [path for path in (Path(src), *Path(src).rglob("*")) if path.is_symlink()]
        if links:
            self.log.error("%s: a link, which is not followed, so nothing of it is collected", links[0])
            return
        try:
            with temp_attrs(self.coursedir, ignore=[*self.coursedir.ignore, PACKAGE]):
                super().do_copy(src, dest, log)
        except (OSError, RuntimeError) as error:  # nbgrader's own limits among them
            shutil.rmtree(dest, ignore_errors=True)
            self.log.error("%s: not collected: %s", src, error)


def list_kept_files(source: Path) -> list[str]:
    """List files that ``nbgrader autograde`` must not copy to each student's folder: the package and head.py."""
    package = (path for path in (source / PACKAGE).rglob("*") if path.is_file())
    return ["head.py", *(str(path.relative_to(source)) for path in package)]
