"""Grade a GPT assembled in PyTorch: the student's code runs confined, the verdicts are made elsewhere."""

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """``check`` for notebooks (live.py), loaded when it is asked for: nothing else of the package needs it.

    Nothing is imported before that: a submission's folder may still be on the path (__main__.py).
    """
    if name == "check":
        from autograder.workbench.notebook_check import check

        return check
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
