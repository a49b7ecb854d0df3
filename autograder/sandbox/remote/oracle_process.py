"""Ask any assignment's oracle a question, within limits; a failure here is the grader's own."""

from __future__ import annotations

from typing import Any

from autograder.core.assignment import Assignment
from autograder.sandbox.remote.client import (
    Operation,
    Process,
    ProcessDied,
    RemoteError,
    SandboxError,
    TimedOut,
    Zygote,
)
from autograder.sandbox.remote.wire import WireError

# CPU seconds, several times what honest submissions need.
QUERY_CPU = 8.0  # one query
SUBMISSION_CPU = 10.0  # all queries of one submission; after that, SHORT_CPU each
SHORT_CPU = 0.5  # many times what a correct class needs


class TooLarge(SandboxError):
    """Raised if a query cannot be sent, or takes too long to answer."""


class OracleProcess:
    """A client of the oracle's process, a fork of the zygote without student code, forked at the first query."""

    def __init__(self, zygote: Zygote, assignment: Assignment) -> None:
        self._zygote, self._module, self._root = zygote, assignment.oracle, str(assignment.root)
        self.cpu = 0.0  # s spent on this client's queries

    @property
    def process(self) -> Process:
        """Return the process that would answer now; a new one after a crash."""
        return self._zygote.oracle(self._module, self._root)

    def ask(self, operation: str, arguments: dict[str, Any], *before: Operation) -> Any:
        """Send the operations ``before``, then this one, and return its answer. Raises TooLarge or SandboxError."""
        process = self.process
        spent = process.cpu
        left = max(SHORT_CPU, SUBMISSION_CPU - self.cpu)
        try:
            return process.call([*before, (operation, arguments)], min(QUERY_CPU, left), 10 * QUERY_CPU)
        except KeyboardInterrupt:
            process.close()  # else the next query would get this one's answer
            raise
        except (TimedOut, WireError) as error:
            raise TooLarge(f"the oracle cannot answer {operation}: {error}") from error
        except (ProcessDied, RemoteError) as error:
            raise SandboxError(f"the oracle failed at {operation}: {error}") from error
        finally:
            self.cpu += process.cpu - spent
