"""Measuring a suite: every answer is checked first; then all cases of a workload are timed in turns.

Cases take turns repetition by repetition, so that a machine that slows down for a while slows all of them down.

Time as it is taken: by the host's clock, and where a GPU works, by the GPU's as well.
"""

import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from grapin.bench import peers
from grapin.bench.suite import Case, Prepare, Suite, Workload, workloads
from grapin.counters import Counters
from grapin.engine.answer import Answer
from grapin.errors import WrongAnswer
from grapin.programs.starting import UNREACHED
from grapin.progress import Advance
from grapin.session import Session

Result = TypeVar("Result")


class Timed(NamedTuple, Generic[Result]):
    """What a call returned, and the seconds it took."""

    result: Result
    seconds: float
    device_seconds: float | None
    """Between two CUDA events around it; None where no GPU is asked."""


class Clock:
    """Times calls for one device.

    An engine returns when its last result has been copied back, so both clocks see all of the work.
    """

    def __init__(self, device: str) -> None:
        self._cuda: Any = None
        if device == "cuda":
            from cupy import cuda

            self._cuda = cuda
            self._stream = cuda.Stream(non_blocking=True)
            self._begin, self._end = cuda.Event(), cuda.Event()

    def time(self, call: Callable[[], Result]) -> Timed[Result]:
        """Call, while Python does not stop to look for garbage."""
        gc.disable()
        try:
            if self._cuda is not None:
                self._begin.record(self._stream)
            begin = perf_counter()
            result = call()
            seconds = perf_counter() - begin
            return Timed(result, seconds, self._events())
        finally:
            gc.enable()

    def _events(self) -> float | None:
        if self._cuda is None:
            return None
        self._end.record(self._stream)
        self._end.synchronize()
        return float(self._cuda.get_elapsed_time(self._begin, self._end)) / 1e3  # CUDA counts milliseconds


Stopped = Callable[[], bool]
"""Asked between repetitions: whether to leave it at what there is."""


@dataclass(eq=False)
class Measurement:
    """One case: seconds of each repetition, and what its batches read."""

    case: Case
    vertices: int
    edges: int
    start: list[float] = field(default_factory=list)
    """To compute the first values."""
    batch: list[float] = field(default_factory=list)
    """To apply a batch to the graph and bring the values up to date: the mean over a repetition's batches."""
    device_batch: list[float] = field(default_factory=list)
    """The same by the GPU's events; empty elsewhere."""
    counters: Counters = field(default_factory=Counters)
    """What all batches of a repetition read."""


def turns(suite: Suite) -> int:
    """Return how many times a case is checked or timed in all, for a progress bar."""
    count = sum(len(suite.cases(*one)) for one in suite.workloads())
    return count * (1 + suite.warmup + suite.repetitions)


def check(suite: Suite, prepare: Prepare, stopped: Stopped, advance: Advance) -> bool:
    """Hold every case against the reference, at the start and after each batch; return whether all were tried.

    A wrong answer, of ours or of a peer, raises `WrongAnswer` naming the case: there is nothing to time.
    """
    for workload in workloads(suite, prepare):
        for case in workload.cases:
            if stopped():
                return False
            try:
                _check_case(workload, case)
            except WrongAnswer as error:
                raise WrongAnswer(f"{case}: {error}; nothing was timed") from None
            advance(1)
    return True


def measure(
    suite: Suite, prepare: Prepare, stopped: Stopped, advance: Advance
) -> Iterator[list[Measurement]]:
    """Time what was checked; yield the measurements of one workload after the other.

    When `stopped` says so, the repetitions that there are are yielded, and no further workload is begun.
    """
    for workload in workloads(suite, prepare):
        start = workload.start
        found = [Measurement(case, start.vertices, len(start)) for case in workload.cases]
        takers = [_taker(workload, case) for case in workload.cases]
        for repetition in range(-suite.warmup, suite.repetitions):
            for one, take_turn in zip(found, takers, strict=True):
                if stopped():
                    break
                take_turn(one if repetition >= 0 else Measurement(one.case, 0, 0))
                advance(1)
        yield [one for one in found if one.start]
        if stopped():
            return


def _check_case(workload: Workload, case: Case) -> None:
    if case.system is None:
        _check_peer(workload, case)
        return
    session = Session(workload.engine(case), workload.batches)
    session.verify()
    for _ in session:
        session.verify()


def _check_peer(workload: Workload, case: Case) -> None:
    ours = Case(
        case.graph, case.batch_size, case.program, workload.suite.systems[0], workload.suite.devices[0]
    )
    answer: Answer = workload.engine(ours).answers[0]
    values = answer.values
    far = np.isinf(values) if values.dtype.kind == "f" else values == UNREACHED
    if not peers.agree(case.program, workload.peer(case)(), np.where(far, -1, values)):
        raise WrongAnswer(f"{case.device} gives another answer than grapin")


def _taker(workload: Workload, case: Case) -> Callable[[Measurement], None]:
    """Return what times one repetition of a case and adds it to a measurement."""
    clock = Clock(case.device)
    if case.system is None:
        run = workload.peer(case)
        return lambda one: one.start.append(clock.time(run).seconds)

    def take_turn(one: Measurement) -> None:
        session = Session(workload.engine(case), workload.batches)
        timed = clock.time(session.run)
        count = len(workload.batches)
        one.start.append(session.engine.started.compute_seconds)
        one.batch.append(timed.seconds / count)
        if timed.device_seconds is not None:
            one.device_batch.append(timed.device_seconds / count)
        one.counters = sum((report.counters for report in timed.result), Counters())

    return take_turn
