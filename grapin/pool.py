"""`spread`: one function for many tasks, here, in processes, or on a Dask cluster, with the same results.

On one computer tasks go to a pool of processes and not to a Dask cluster of its own: `experiments/spreading.py`
measures how long each takes to start. So only `--cluster` needs Dask, and it is an extra. Tasks of a process, or of a
worker, that dies are done again by another.

A large value that all tasks need lies in a file that the processes map: its arrays exist once, however many use it. The
parts of it that offer their memory (arrays do, to pickle's protocol 5) lie one behind the other; the rest is pickled
beside them.
"""

import gc
import pickle
import signal
import socket
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from mmap import ACCESS_COPY, mmap
from multiprocessing import active_children, get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from grapin.errors import InvalidArgument, MissingDependency, WorkersLost
from grapin.interrupts import held_interrupts
from grapin.validation import check_integer, refuse

Task = TypeVar("Task")
Result = TypeVar("Result")


def map_tasks(
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
        from grapin.pool import on_cluster

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
        with held_interrupts(), _sigint_blocked():
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
def _sigint_blocked() -> Iterator[None]:
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


_ANSWER_SECONDS = 10
"""How long a scheduler may take to answer and to show a worker."""
_ABSENT_SECONDS = 60
"""How long a cluster may be without workers: those that die are usually started again."""
_PULSE_SECONDS = 5


def check_cluster(address: str) -> None:
    """Refuse a cluster that cannot take tasks, before anything is computed for it."""
    with _connected(address):
        pass


def on_cluster(
    function: Callable[..., Result], tasks: Mapping[int, Task], shared: Sequence[Any], address: str
) -> Generator[tuple[int, Result], None, None]:
    """Yield each task's place and result as they arrive."""
    with _connected(address) as client:
        # Results of tasks of their own, which the scheduler can have made again, and not scattered: what only a worker
        # has is lost with it.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            held = [client.submit(_itself, value, pure=False) for value in shared]
        places = {client.submit(function, task, *held, pure=False): place for place, task in tasks.items()}
        for future in _as_they_end(client, set(places), address):
            yield places[future], _result(future, tasks[places[future]])


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    if find_spec("distributed") is None:
        raise MissingDependency("a cluster needs Dask: pip install 'grapin[cluster]'")
    client = None if _silent(address) else _client(address)
    if client is None:
        # What is left of a client that found nobody takes a lock when it is collected, and for ever if that happens
        # while the next client is made: so it is collected here.
        gc.collect()
        refuse("cluster", address, "be the address of a Dask scheduler that runs, such as tcp://host:8786")
    with client:
        _check_workers(client, address)
        yield client


def _silent(address: str) -> bool:
    """Tell whether something takes calls at this address and says nothing: a Dask client would wait for it for ever.

    A scheduler speaks first when it is called, but behind TLS, where Dask's own time limit holds.
    """
    protocol, _, place = address.rpartition("://")
    host, _, port = place.rpartition(":")
    if protocol not in ("", "tcp") or not (host and port.isdecimal() and int(port) < 2**16):
        return False
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS) as line:
            return line.recv(1, socket.MSG_PEEK) == b""
    except TimeoutError:
        return True
    except (OSError, UnicodeError):  # nobody there: Dask says so as well
        return False


def _client(address: str) -> Any:
    """Return a client of the scheduler at this address, None when there is none."""
    distributed: Any = import_module("distributed")
    try:
        return distributed.Client(address, timeout=_ANSWER_SECONDS)
    except Exception:  # noqa: BLE001 - whatever else listens there is misread in its own way: no memory, no structure
        return None


def _check_workers(client: Any, address: str) -> None:
    """Refuse a cluster without workers, and one whose workers would compute something else."""
    try:
        client.wait_for_workers(1, timeout=_ANSWER_SECONDS)
    except TimeoutError:
        refuse("cluster", address, f"have workers: start some with `dask worker {address}`")
    here = version("grapin")
    for worker, found in client.get_versions(packages=["grapin"])["workers"].items():
        there = found["packages"]["grapin"] or "none"
        if there != here:
            raise InvalidArgument(
                f"cluster={address!r} must have grapin {here} on every worker, but {worker} has {there}"
            )


def _as_they_end(client: Any, waiting: set[Any], address: str) -> Iterator[Any]:
    distributed: Any = import_module("distributed")
    seen = time.monotonic()
    while waiting:
        try:
            ended = distributed.wait(waiting, timeout=_PULSE_SECONDS, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            if client.nthreads():
                seen = time.monotonic()
            elif time.monotonic() - seen > _ABSENT_SECONDS:
                raise WorkersLost(
                    f"cluster={address!r} has had no workers for {_ABSENT_SECONDS} seconds; start some and try again"
                ) from None
            continue
        waiting -= ended
        yield from ended


def _result(future: Any, task: object) -> Any:
    distributed: Any = import_module("distributed")
    try:
        return future.result()
    except distributed.KilledWorker:
        raise WorkersLost(
            f"{task} ended every worker that tried it, perhaps for lack of memory; see the workers' logs"
        ) from None
    except distributed.CancelledError:
        raise WorkersLost("the cluster's scheduler ended or forgot a task; start it and try again") from None


def _itself(value: Any) -> Any:
    return value
