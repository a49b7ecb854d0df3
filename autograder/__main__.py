"""``python -m autograder``."""

import os
import sys

# With -m the current folder is on the path, and it may be a submission's, so nothing in it must be imported.
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if sys.path[:1] in ([""], [os.getcwd()]) and sys.path[0] != ROOT:
    sys.path[0] = ROOT

import contextlib  # noqa: E402

from autograder.sandbox.remote import launch  # noqa: E402

# Launch before parsing the command line, which takes a quarter as long as loading torch.
with launch.launch_early() if {"grade", "lms"} & set(sys.argv[1:4]) else contextlib.nullcontext():
    try:
        from autograder.cli import main
    except ModuleNotFoundError as error:
        told = f"{sys.executable} has no {error.name}; `make setup` makes a Python that has all: .venv/bin/python"
        print(f"autograder: {told}", file=sys.stderr)
        sys.exit(2)

    main()
