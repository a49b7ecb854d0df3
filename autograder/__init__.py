"""Grade assignments in PyTorch: student code runs in a sandbox, and verdicts are reached outside of it."""

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Import ``check`` for notebooks on first use.

    Importing it earlier would be unsafe, since a submission's folder may still be on the path (__main__.py).
    """
    if name == "check":
        from autograder.workbench.notebook_check import check

        return check
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
