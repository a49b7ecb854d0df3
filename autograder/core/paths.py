"""Locate the package and the project on disk; imports nothing, so that a launcher can use it."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parent  # the project's folder, or site-packages where the package is installed
