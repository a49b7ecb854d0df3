"""Write the results of a course for people and platforms.

To add a format of exported grades, add a module with the interface of ``export_format.ExportFormat`` and a line to
FORMATS. The command line adds nbgrader's, since this package may not depend on it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autograder.course.output.export_format import ExportFormat

FORMATS = {  # the module of each format, imported when it is used
    "csv": f"{__name__}.csv_table",
    "canvas": f"{__name__}.canvas",
    "moodle": f"{__name__}.moodle",
}


def get_format(name: str) -> ExportFormat:
    """Return the format called ``name``, which is one of FORMATS."""
    export_format: ExportFormat = importlib.import_module(FORMATS[name])
    return export_format
