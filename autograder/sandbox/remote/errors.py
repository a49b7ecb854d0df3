"""Define the exceptions for calls of student code that return no value; the submission is always the cause."""

from __future__ import annotations

from autograder.sandbox.remote.client import Frame, RemoteException


class StudentError(Exception):
    """A call of student code returned no value. ``call`` names it as a student would."""

    def __init__(self, call: str, text: str) -> None:
        super().__init__(text)
        self.call = call


class NotDefined(StudentError):
    """A file or a definition that the submission does not have; ``near`` is one that may be meant by it."""

    def __init__(self, name: str, call: str, text: str, near: str = "") -> None:
        super().__init__(call, text)
        self.name, self.near = name, near


class ImportFailed(NotDefined):
    """A definition that exists but raised while its file was imported."""

    def __init__(self, name: str, file: str, remote: RemoteException) -> None:
        super().__init__(name, file, f"{name} could not be imported from {file}")
        self.remote = remote


class NotImplementedYet(NotDefined):
    """A definition that still raises NotImplementedError, as its stub does, in ``frame``."""

    def __init__(self, name: str, call: str, frame: Frame) -> None:
        super().__init__(name, call, f"{frame.where} is not implemented yet")
        self.frame = frame


class Raised(StudentError):
    """The student's code raised an exception."""

    def __init__(self, call: str, remote: RemoteException) -> None:
        super().__init__(call, f"{remote.type}: {remote.text}" if remote.text else remote.type)
        self.remote = remote


class Crashed(StudentError):
    """The student's process ended or sent an invalid reply."""


class TimeLimitReached(StudentError):
    """The call or the whole submission used up its time."""
