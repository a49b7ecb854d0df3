"""Create an nbgrader course folder: source notebook, configuration, gradebook.

python -m autograder.nbgrader.course FOLDER      (make nbgrader-course OUT=FOLDER)
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from autograder.core import assignment as assignments
from autograder.core.assignment import DEFAULT, Assignment
from autograder.core.atomic import write_whole
from autograder.core.errors import BadInput
from autograder.core.paths import ROOT
from autograder.lms import package_files
from autograder.nbgrader.gradebook import NAME, open_gradebook

CONFIG = '''"""nbgrader's settings for this course: the autograder grades submissions, and no kernel is started."""

import sys
from pathlib import Path

sys.path.insert(0, {top!r})  # where the autograder is

from autograder.nbgrader.autograde import preprocessors, sanitizers
from autograder.nbgrader.exchange import Collect, list_kept_files
from autograder.nbgrader.export import Table

c = get_config()
c.CourseDirectory.course_id = "{course}"
c.ExchangeFactory.collect = Collect
c.Autograde.sanitize_preprocessors = sanitizers()
c.Autograde.autograde_preprocessors = preprocessors()
c.Autograde.exclude_overwriting = {{"{name}": list_kept_files(Path(__file__).parent / "source" / "{name}")}}
c.ExportApp.plugin_class = Table
'''
NEXT = f"""{{out}}: ready. In that folder, with the nbgrader in {{bin}}:
  nbgrader generate_assignment {NAME}
  nbgrader release_assignment {NAME}       and, after the deadline, collect; or put work into submitted/
  nbgrader autograde {NAME}
  nbgrader generate_feedback {NAME}        and release_feedback
  nbgrader export"""


def create_course(out: Path, assignment: Assignment) -> None:
    """Write the course to ``out``; update an earlier one, except for settings and scores."""
    source = out / "source" / NAME
    try:
        for name, entry in package_files.collect_grader(assignment).items():
            if name.startswith("autograder/"):  # beside the notebook, where students can import it
                (source / name).parent.mkdir(parents=True, exist_ok=True)
                (source / name).write_bytes(entry.data)
    except OSError as error:
        raise BadInput(f"{out}: {error.strerror}; choose a writable folder") from None
    derived = subprocess.run(
        [sys.executable, "-m", "reference.derive", "--source", str((source / f"{NAME}.ipynb").absolute())],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if derived.returncode:
        raise BadInput((derived.stderr.strip().splitlines() or ["reference.derive failed"])[-1])
    config = out / "nbgrader_config.py"
    if not config.exists():
        write_whole(config, CONFIG.format(top=str(ROOT), name=NAME, course=assignment.name))
    with open_gradebook(f"sqlite:///{(out / 'gradebook.db').absolute()}") as gradebook:
        gradebook.update_or_create_assignment(NAME)


def main() -> int:
    """Create the course in the folder given on the command line."""
    if len(sys.argv) != 2 or not sys.argv[1]:
        print("OUT=FOLDER is missing: give the folder of the course", file=sys.stderr)
        return 2
    try:
        create_course(Path(sys.argv[1]), assignments.load(DEFAULT))
    except BadInput as error:
        print(f"autograder: {error}", file=sys.stderr)
        return 2
    print(NEXT.format(out=sys.argv[1], bin=Path(sys.executable).parent))
    return 0


if __name__ == "__main__":
    sys.exit(main())
