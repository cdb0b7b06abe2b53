"""`spread`: one function for many tasks, here, in processes, or on a cluster, with the same results.

On one computer tasks go to a pool of processes and not to a Dask cluster of its own: `experiments/spreading.py`
measures how long each takes to start. So only `--cluster` needs Dask, and it is an extra.

Tasks in a pool of processes on this computer, made again with what is left when one of them dies.

A value in a file that several processes map: its arrays exist once, however many of them use it.

The parts of a value that offer their memory (arrays do, to pickle's protocol 5) lie one behind the other in the file;
the rest is pickled beside them.
"""

import pickle
import signal
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from mmap import ACCESS_COPY, mmap
from multiprocessing import active_children, get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from grapin.errors import WorkersLost
from grapin.interrupts import held_interrupts
from grapin.validation import check_integer

Task = TypeVar("Task")
Result = TypeVar("Result")


def spread(
    function: Callable[..., Result],
    tasks: Sequence[Task],
    *,
    shared: Sequence[Any] = (),
    processes: int = 1,
    cluster: str | None = None,
    advance: Callable[[float], None] = lambda _: None,
    until: Callable[[Result], bool] = lambda _: False,
) -> list[Result]:
    """Return `function(task, *shared)` of every task, in the order of the tasks whatever the order of arrival.

    Args:
        function: found by name where it runs, so one of a module, not a lambda.
        tasks: small values; each is sent to whoever performs it.
        shared: what all tasks need, sent once: processes of one computer share the memory of its arrays.
        processes: how many of them on this computer; with 1, everything happens in this one.
        cluster: the address of a Dask scheduler, such as `tcp://host:8786`, that takes the tasks instead; `processes`
            then means nothing.
        advance: told of every task that is done.
        until: a result that is enough. The list ends with the first of them, in the order of the tasks; tasks behind it
            are given up, also those under way.

    A task whose process or worker dies is done again by another; the first error that a task raises ends all of them.
    With more than one process, scripts need the usual `if __name__ == "__main__":`, as for all of `multiprocessing`.
    """
    check_integer("processes", processes, least=1)
    results: dict[int, Result] = {}
    known: list[Result] = []
    with closing(_perform(function, dict(enumerate(tasks)), shared, processes, cluster)) as arriving:
        for place, result in arriving:
            results[place] = result
            advance(1)
            while len(known) in results:
                known.append(results.pop(len(known)))
                if until(known[-1]):
                    return known
    return known


def _perform(
    function: Callable[..., Result],
    tasks: Mapping[int, Task],
    shared: Sequence[Any],
    processes: int,
    cluster: str | None,
) -> Generator[tuple[int, Result], None, None]:
    """Yield the place of each task and its result, in the order of arrival."""
    if cluster is not None:
        from grapin.cluster import on_cluster

        return on_cluster(function, tasks, shared, cluster)
    if min(processes, len(tasks)) > 1:
        return in_processes(function, tasks, shared, processes)
    return ((place, function(task, *shared)) for place, task in tasks.items())


_ALIGNMENT = 64  # bytes: what NumPy gives arrays of its own, and vector instructions like


def lay_out(value: Any, folder: Path) -> None:
    """Write the value into a folder from which other processes can map it."""
    buffers: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    places = []
    with (folder / "buffers").open("wb") as file:
        file.write(bytes(_ALIGNMENT))  # an empty file cannot be mapped
        for buffer in buffers:
            with buffer.raw() as memory:
                places.append((file.tell(), len(memory)))
                file.write(memory)
            file.write(bytes(-file.tell() % _ALIGNMENT))
    (folder / "rest").write_bytes(pickle.dumps((rest, places)))


def map_value(folder: Path) -> Any:
    """Return the value; its arrays are the file's memory, copied where somebody writes.

    They could be read-only, but compiled functions would be compiled again for such arrays.
    """
    rest, places = pickle.loads((folder / "rest").read_bytes())  # noqa: S301 - written above, by ourselves
    with (folder / "buffers").open("rb") as file:
        memory = memoryview(mmap(file.fileno(), 0, access=ACCESS_COPY))
    return pickle.loads(rest, buffers=[memory[start : start + size] for start, size in places])  # noqa: S301 - as above


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
        with held_interrupts(), _deaf_children():
            places = {pool.submit(_perform_one, function, task): place for place, task in tasks.items()}
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


def _perform_one(function: Callable[..., Result], task: Any) -> Result:
    return function(task, *_shared)
