"""``python -m autograder``."""

import os
import sys

# With -m the current folder is on the path, and it may be a submission's: nothing in it is to be imported.
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if sys.path[:1] in ([""], [os.getcwd()]) and sys.path[0] != ROOT:
    sys.path[0] = ROOT

from autograder.cli import main  # noqa: E402

main()
