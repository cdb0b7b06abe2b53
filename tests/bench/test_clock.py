"""The clock measures a call, and on a GPU asks the GPU's events too."""

import gc
import sys
import time
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from grapin.bench.measure import Clock


def test_a_call_is_timed_without_the_garbage_collector() -> None:
    def call() -> bool:
        time.sleep(0.01)
        return gc.isenabled()

    timed = Clock("cpu").time(call)
    assert timed.result is False
    assert timed.seconds >= 0.01
    assert timed.device_seconds is None
    assert gc.isenabled()


def test_the_collector_is_back_after_a_call_that_fails() -> None:
    def fail() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        Clock("cpu").time(fail)
    assert gc.isenabled()


def test_on_a_gpu_events_around_the_call_give_the_time_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []

    class Event:
        def __init__(self) -> None:
            self.at = 0.0

        def record(self, stream: Any) -> None:
            happened.append("record")
            self.at = float(len(happened))

        def synchronize(self) -> None:
            happened.append("synchronize")

    cuda = SimpleNamespace(
        Stream=lambda non_blocking: None, Event=Event, get_elapsed_time=lambda begin, end: end.at - begin.at
    )
    pretended = ModuleType("cupy")
    pretended.cuda = cuda  # type: ignore[attr-defined]  # as CuPy has it
    monkeypatch.setitem(sys.modules, "cupy", pretended)
    timed = Clock("cuda").time(lambda: happened.append("call"))
    assert happened == ["record", "call", "record", "synchronize"]
    assert timed.device_seconds == pytest.approx(0.002)
