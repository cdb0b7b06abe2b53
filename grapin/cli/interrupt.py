"""Ctrl-C between batches, never within one: the run ends after the batch it is in, with nothing half done."""

import signal
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """While open, the first Ctrl-C is only noted; a second one interrupts at once."""

    def __init__(self) -> None:
        self.seen = False
        self._before: Any = None

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        if self.seen:
            raise KeyboardInterrupt
        self.seen = True
