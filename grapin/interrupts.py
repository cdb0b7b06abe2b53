"""Ctrl-C, and SIGTERM where a program hears it: what either of them does, and when.

Python raises `KeyboardInterrupt` wherever it happens to be, also in the few lines of Python by which Numba compiles a
function or hands its results over. There it ends in a crash or in an error that has nothing to do with it; and a repair
that it ends half-way leaves no answer. So a step is held whole (`held_interrupts`), a loop is asked between its steps
(`Interrupts`), and where what is raised may get lost it is remembered (`remembered_interrupts`). All stand in front of
the handlers that were there, for as long as their block runs, and a second signal takes effect at once.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import current_thread, main_thread
from types import FrameType, TracebackType
from typing import Any, Self

Handler = Callable[[int, FrameType | None], Any]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_DROPPING = "gc_callback"
"""Hypothesis's function that the collector calls (junkdrawer.py): what is raised in it is a traceback, and no more."""


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends whatever Ctrl-C ends in the same way."""


def interruption(number: int) -> KeyboardInterrupt:
    """Return what a signal raises."""
    return Terminated() if number == signal.SIGTERM else KeyboardInterrupt()


def _terminate(number: int, _frame: FrameType | None) -> None:
    raise interruption(number)


@contextmanager
def heard_terminations() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does; for programs, which own the process, and not for libraries."""
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


class _Front:
    """A handler in front of another one, which it is given."""

    def __init__(self, handle: Callable[[int, FrameType | None, Handler], None], before: Handler) -> None:
        self._handle = handle
        self._before = before

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self._handle(number, frame, self._before)


def _ours(handler: Any) -> bool:
    """Tell Python's own way to handle a signal, and those of this module, from a program's."""
    return handler in (signal.default_int_handler, _terminate) or isinstance(handler, _Front)


_masks: list[Any] = []


def _before_fork() -> None:
    """Keep SIGTERM waiting: what reaches a forked process before it knows that it is one would be lost."""
    _masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]))


def _after_fork() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _masks.pop())


def _begin_forked() -> None:
    """Let SIGTERM end a process that was forked: it is no program of its own, and who forked it waits for its end."""
    if _ours(signal.getsignal(signal.SIGTERM)):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _after_fork()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_begin_forked)


@contextmanager
def _in_front(handle: Callable[[int, FrameType | None, Handler], None]) -> Iterator[None]:
    """Put `handle` in front of the handlers there are; a program with a handler of its own keeps it.

    Only the main thread hears signals at all.
    """
    if current_thread() is not main_thread():
        yield
        return
    before: dict[int, Any] = {number: signal.getsignal(number) for number in _SIGNALS}
    before = {number: handler for number, handler in before.items() if _ours(handler)}
    for number, handler in before.items():
        signal.signal(number, _Front(handle, handler))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Run a block whole; a Ctrl-C meanwhile takes effect behind it, a second one at once."""
    waiting: list[tuple[int, Handler]] = []

    def hold(number: int, frame: FrameType | None, before: Handler) -> None:
        waiting.append((number, before))
        if len(waiting) > 1:
            deliver(frame)

    def deliver(frame: FrameType | None) -> None:
        while waiting:
            number, before = waiting.pop(0)
            before(number, frame)

    with _in_front(hold):
        yield
    deliver(None)


class Interrupts:
    """While open, the first signal is only noted, for a loop to end after the step it is in; a second interrupts."""

    def __init__(self) -> None:
        self.noted: int | None = None
        """The number of the first signal."""
        self._front: AbstractContextManager[None] = _in_front(self._note)

    @property
    def seen(self) -> bool:
        """Whether there was one."""
        return self.noted is not None

    def __enter__(self) -> Self:
        self._front.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._front.__exit__(kind, error, traceback)

    def _note(self, number: int, _frame: FrameType | None, _before: Handler) -> None:
        if self.seen:
            raise interruption(number)
        self.noted = number


@contextmanager
def remembered_interrupts() -> Iterator[Callable[[], None]]:
    """While open, handle Ctrl-C as before and remember it; yield what raises it again if there was one.

    While Hypothesis draws, a function of its own is called by the garbage collector, and what is raised there is
    dropped with a note to the screen; a `KeyboardInterrupt` too. Drawing is what most garbage comes from, so this is
    not rare.
    """
    seen: list[int] = []

    def remember(number: int, frame: FrameType | None, before: Handler) -> None:
        seen.append(number)
        if frame is None or frame.f_code.co_name != _DROPPING:
            before(number, frame)

    def repeat() -> None:
        if seen:
            raise interruption(seen[0])

    with _in_front(remember):
        yield repeat
