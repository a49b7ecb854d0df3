"""``python -m autograder``."""

from autograder.cli import main

main()
