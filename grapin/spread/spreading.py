"""`spread`: one function for many tasks, here, in processes, or on a cluster, with the same results.

On one computer tasks go to a pool of processes and not to a Dask cluster of its own: `experiments/spreading.py`
measures how long each takes to start. So only `--cluster` needs Dask, and it is an extra.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from typing import Any, TypeVar

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
        from grapin.spread.cluster import on_cluster

        return on_cluster(function, tasks, shared, cluster)
    if min(processes, len(tasks)) > 1:
        from grapin.spread.processes import in_processes

        return in_processes(function, tasks, shared, processes)
    return ((place, function(task, *shared)) for place, task in tasks.items())
