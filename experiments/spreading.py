"""How long until several processes are at work? A pool of processes beside a Dask cluster of this computer's own.

It decides where tasks go without `--cluster`: a sweep of a few seconds must not wait for its workers. Both are started
with two processes, do four tasks that take no time, and are ended.
"""

import os
from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter

from experiments.lib.bars import Bar, figures, kept, sentence, span, told
from experiments.lib.experiment import Experiment
from grapin.pool import map_tasks

PROCESSES = 2
TASKS = range(4)
ROUNDS = 5
POOL, CLUSTER = "a pool of processes", "a Dask cluster of this computer's own"


def who(_task: int) -> int:
    """Do nothing that takes time."""
    return os.getpid()


def pool() -> None:
    """Use the processes that `spread` starts."""
    map_tasks(who, TASKS, processes=PROCESSES)


def own_cluster() -> None:
    """Use a cluster that lasts as long as the tasks."""
    from distributed import LocalCluster

    with (
        LocalCluster(n_workers=PROCESSES, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster  # type: ignore[no-untyped-call]
    ):
        map_tasks(who, TASKS, cluster=cluster.scheduler_address)


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
        Bar(POOL, pools, "s"),
        Bar(CLUSTER, clusters, "s"),
    ]


def _answer(bars: Sequence[Bar]) -> str:
    pool, cluster = (span(figures(bars, name), "s") for name in (POOL, CLUSTER))
    part = span(bar.figure for bar in bars if bar.limit is not None)
    said = f"{POOL} is started, used and ended in {{}}, {CLUSTER} in {{}}: {{}} of its time"
    return sentence(told(said, pool, cluster, part), kept(bars))


EXPERIMENT = Experiment(
    name="spreading",
    question="How long until several processes are at work: a pool, beside a Dask cluster of this computer's own?",
    measure=bars,
    answer=_answer,
    configuration={"processes": PROCESSES, "tasks": len(TASKS), "rounds": ROUNDS},
)
