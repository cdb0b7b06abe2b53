"""How long until several processes are at work? A pool of processes beside a Dask cluster of this computer's own.

    python -m experiments.spreading [--quick]

It decides where tasks go without `--cluster`: a sweep of a few seconds must not wait for its workers. Both are started
with two processes, do four tasks that take no time, and are ended.
"""

import argparse
import os
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter

from experiments.bars import Bar, print_bars, record_bars
from grapin.spread import spread

PROCESSES = 2
TASKS = range(4)
ROUNDS = 5


def who(_task: int) -> int:
    """Do nothing that takes time."""
    return os.getpid()


def pool() -> None:
    """Use the processes that `spread` starts."""
    spread(who, TASKS, processes=PROCESSES)


def own_cluster() -> None:
    """Use a cluster that lasts as long as the tasks."""
    from distributed import LocalCluster

    with (
        LocalCluster(n_workers=PROCESSES, threads_per_worker=1, dashboard_address=None) as cluster,  # type: ignore[no-untyped-call]
    ):
        spread(who, TASKS, cluster=cluster.scheduler_address)


def seconds(work: Callable[[], None]) -> float:
    """Return how long it takes."""
    begin = perf_counter()
    work()
    return perf_counter() - begin


def bars(*, quick: bool) -> list[Bar]:
    """Measure both in turns, so that what else the computer does hits both; imports are done before."""
    import distributed  # noqa: F401

    pairs = [(seconds(pool), seconds(own_cluster)) for _ in range(1 if quick else ROUNDS)]
    pools, clusters = (median(times) for times in zip(*pairs, strict=True))
    return [
        Bar("pool over cluster, start to end", pools / clusters, limit=1.0),
        Bar("a pool of processes", pools, "s"),
        Bar("a Dask cluster of this computer's own", clusters, "s"),
    ]


def main() -> int:
    """Measure, print, record; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one round, to see that it runs")
    quick = parser.parse_args().quick
    measured = bars(quick=quick)
    print_bars("Until several processes are at work", measured)
    print(f"recorded in records/{record_bars('spreading', {'quick': quick}, measured).name}")
    return int(any(bar.verdict == "FAIL" for bar in measured))


if __name__ == "__main__":
    sys.exit(main())
