"""Tasks in a pool of processes on this computer, made anew with what is left when one of them dies."""

import signal
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from multiprocessing import active_children, get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from grapin.errors import WorkersLost
from grapin.spread.mapped import lay_out, map_value

Task = TypeVar("Task")
Result = TypeVar("Result")

_PATIENCE = 3
"""Pools that may break one after the other without a single result."""
_shared: list[Any] = []
"""In a process of a pool, what all tasks need."""


def in_processes(
    function: Callable[..., Result], tasks: Mapping[int, Task], shared: Sequence[Any], processes: int
) -> Generator[tuple[int, Result], None, None]:
    """Yield each task's place and result as they arrive."""
    left = dict(tasks)
    broken = 0
    with TemporaryDirectory(prefix="grapin-") as folder:
        lay_out(shared, Path(folder))
        while left:
            try:
                # Closed when nobody asks for more, so that no process outlives its folder.
                with closing(_in_pool(function, left, folder, min(processes, len(left)))) as arriving:
                    for place, result in arriving:
                        yield place, result
                        del left[place]
                        broken = 0
            except BrokenProcessPool:
                broken += 1
                if broken == _PATIENCE:
                    raise WorkersLost(
                        f"{broken} times in a row, a process ended before its result came, perhaps for lack of memory; "
                        "try fewer processes"
                    ) from None


def _in_pool(
    function: Callable[..., Result], tasks: Mapping[int, Task], folder: str, processes: int
) -> Generator[tuple[int, Result], None, None]:
    others = set(active_children())
    # Spawned rather than forked: the engine may have threads of its own in this process.
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _begin, (folder,))
    try:
        with _deaf_children():
            places = {pool.submit(_perform, function, task): place for place, task in tasks.items()}
        for done in as_completed(places):
            yield places[done], done.result()
    except BaseException:
        # Nobody waits any more for what they do, which may take minutes.
        for child in set(active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Keep Ctrl-C from processes started here: a terminal sends it to all, and the first one ends the others."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(folder: str) -> None:
    _shared[:] = map_value(Path(folder))


def _perform(function: Callable[..., Result], task: Any) -> Result:
    return function(task, *_shared)
