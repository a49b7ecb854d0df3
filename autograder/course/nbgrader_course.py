"""Create an nbgrader course folder: source notebook, configuration, gradebook.

python -m autograder.course.nbgrader_course FOLDER      (make nbgrader-course OUT=FOLDER)
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from autograder.course import nbgrader
from autograder.files import BadInput, write_whole
from autograder.lms import _pack

CONFIG = '''"""nbgrader's settings for this course: the autograder grades submissions, and no kernel is started."""

import sys
from pathlib import Path

sys.path.insert(0, {top!r})  # where the autograder is

from autograder.course.nbgrader_autograde import preprocessors, sanitizers
from autograder.course.nbgrader_exchange import Collect, not_overwritten
from autograder.course.nbgrader_export import Table

c = get_config()
c.CourseDirectory.course_id = "gpt"
c.ExchangeFactory.collect = Collect
c.Autograde.sanitize_preprocessors = sanitizers()
c.Autograde.autograde_preprocessors = preprocessors()
c.Autograde.exclude_overwriting = {{"{name}": not_overwritten(Path(__file__).parent / "source" / "{name}")}}
c.ExportApp.plugin_class = Table
'''
NEXT = f"""{{out}}: ready. In that folder, with the nbgrader in {{bin}}:
  nbgrader generate_assignment {nbgrader.NAME}
  nbgrader release_assignment {nbgrader.NAME}       and, after the deadline, collect; or put work into submitted/
  nbgrader autograde {nbgrader.NAME}
  nbgrader generate_feedback {nbgrader.NAME}        and release_feedback
  nbgrader export"""


def make(out: Path) -> None:
    """Write the course to ``out``; an earlier one is updated, except for settings and scores."""
    source = out / "source" / nbgrader.NAME
    try:
        for name, entry in _pack.grader().items():
            if name.startswith("autograder/"):  # beside the notebook students can import it
                (source / name).parent.mkdir(parents=True, exist_ok=True)
                (source / name).write_bytes(entry.data)
    except OSError as error:
        raise BadInput(f"{out}: {error.strerror}; choose a writable folder") from None
    made = subprocess.run(
        [sys.executable, "-m", "reference.derive", "--source", str((source / f"{nbgrader.NAME}.ipynb").absolute())],
        cwd=_pack.TOP,
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        raise BadInput((made.stderr.strip().splitlines() or ["reference.derive failed"])[-1])
    config = out / "nbgrader_config.py"
    if not config.exists():
        write_whole(config, CONFIG.format(top=str(_pack.TOP), name=nbgrader.NAME))
    with nbgrader.opened(f"sqlite:///{(out / 'gradebook.db').absolute()}") as gradebook:
        gradebook.update_or_create_assignment(nbgrader.NAME)


def main() -> int:
    """Create the course in the folder given on the command line."""
    if len(sys.argv) != 2 or not sys.argv[1]:
        print("OUT=FOLDER is missing: give the folder of the course", file=sys.stderr)
        return 2
    try:
        make(Path(sys.argv[1]))
    except BadInput as error:
        print(f"autograder: {error}", file=sys.stderr)
        return 2
    print(NEXT.format(out=sys.argv[1], bin=Path(sys.executable).parent))
    return 0


if __name__ == "__main__":
    sys.exit(main())
