"""The one family of errors: every failure a user can cause is a `GrapinError` with a whole sentence.

The sentence names the culprit (argument, file and line, edge), the value, and what it must be instead.
The command line prints it without a traceback and leaves with exit code 2.
"""

from typing import Any


class GrapinError(Exception):
    """Anything that went wrong for a reason the user can act on."""


class InvalidArgument(GrapinError, ValueError):
    """An argument, option or specification string is not usable."""


class BrokenRule(InvalidArgument):
    """A program's `edge` breaks what repair relies on; the message gives the values that show it, and so do these."""

    def __init__(self, message: str, value: Any = None, better_value: Any = None, weight: Any = None) -> None:
        super().__init__(message)
        self.value, self.better_value, self.weight = value, better_value, weight


class InvalidBatch(GrapinError, ValueError):
    """A batch contradicts itself or the graph; nothing of it was applied."""


class InvalidFile(GrapinError, ValueError):
    """A file cannot be read as what it claims to be; nothing of it was loaded."""


class MissingDependency(GrapinError, ImportError):
    """An optional library is needed for this use; the message says what to install."""


class DeviceUnavailable(GrapinError, RuntimeError):
    """A device cannot be used on this machine; the message says why and what to do."""


class WorkersLost(GrapinError, RuntimeError):
    """Processes or workers ended, again and again, before the results of their tasks came."""


class CorruptGraph(GrapinError, AssertionError):
    """`Graph.check` found a broken invariant: a defect of ours, never the user's fault."""


class WrongAnswer(GrapinError, AssertionError):
    """A verifier found a value that the reference contradicts; it names vertex, value and expectation."""


class AnswersLost(GrapinError, RuntimeError):
    """An earlier repair did not come to its end, so the answers are of no graph; the message says what ended it."""


class ValueOverflow(GrapinError, OverflowError):
    """A value no longer fits into the 32 bits a key has; it is reported, never wrapped around."""

    def __init__(self, program: str) -> None:
        super().__init__(
            f"a value of {program} does not fit into 32 bits: use smaller weights, or float32 ones"
        )
        self._program = program

    def __reduce__(self) -> tuple[type["ValueOverflow"], tuple[str]]:
        # On its way from another process it is made again, from the program and not from the sentence.
        return type(self), (self._program,)
