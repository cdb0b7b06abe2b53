"""Tasks on a Dask cluster that already runs; the scheduler gives those of a worker that dies to another."""

import gc
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, TypeVar

from grapin.errors import InvalidArgument, MissingDependency, WorkersLost
from grapin.validation import refuse

Task = TypeVar("Task")
Result = TypeVar("Result")

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
    client = _client(address)
    if client is None:
        # What is left of a client that found nobody takes a lock when it is collected, and for ever if that happens
        # while the next client is made: so it is collected here.
        gc.collect()
        refuse("cluster", address, "be the address of a Dask scheduler that runs, such as tcp://host:8786")
    with client:
        _check_workers(client, address)
        yield client


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
