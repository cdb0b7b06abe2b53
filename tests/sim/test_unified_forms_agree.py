"""The event form and the fast form of unified memory give the same answer, to the last page and tick."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from unified_traces import SMALL, Case, Phase, cases, make_trace, small_machine

from grapin.engine import Engine
from grapin.generators import generate
from grapin.loading import load
from grapin.programs import BFS, SSSP
from grapin.sim import MACHINES
from grapin.sim.oracle.paging import replay_unified_events
from grapin.sim.paging import DRIVER, UnifiedReplay
from grapin.sim.paging.memory import Memory
from grapin.sim.paging.thrashing import Histories
from grapin.sim.timeline import Timeline
from grapin.sim.transfer import unified as fast_form
from grapin.sim.transfer.unified import replay_unified
from grapin.stream import workload


def both(case: Case) -> tuple[UnifiedReplay, UnifiedReplay]:
    options: dict[str, Any] = {"advice": case.advice, "driver": case.driver, "memory": case.memory}
    events = replay_unified_events(case.trace, case.machine, **options)
    fast = replay_unified(case.trace, case.machine, **options)
    return events, fast


@given(cases)
def test_volumes_and_times_of_both_forms_are_equal(case: Case) -> None:
    events, fast = both(case)
    assert events == fast


@pytest.mark.parametrize("advice", ["none", "preferred-gpu"])
def test_they_are_equal_when_host_and_gpu_fight_until_pages_are_pinned_and_beyond(advice: str) -> None:
    fight = [Phase([[(64, 8, 1, False, False)]], [(64, 8, False)]) for _ in range(120)]
    driver = replace(SMALL, lapse=100e-6, pin_threshold=2, pin=20, block_time=1e-6, host_time=1e-6)
    machine = small_machine().with_settings({"host.fault_batch": 1e-6})
    case = Case(make_trace(fight), machine, advice, driver, 4 * SMALL.block)
    events, fast = both(case)
    assert events == fast
    assert fast.total.throttled > 0
    assert fast.total.pinned > 0
    assert fast.total.remote_lines > 0


@pytest.mark.parametrize("iterations", [1, 30])
def test_they_are_equal_when_the_clock_is_set_back_on_the_way(
    iterations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fight = [
        Phase([[(64, 8, 1, False, False)]] * iterations, [(64, 8, False)]) for _ in range(1500 // iterations)
    ]
    driver = replace(SMALL, lapse=5e-6, pin_threshold=2, pin=3, epoch=4, block_time=1e-6, host_time=1e-6)
    machine = small_machine().with_settings({"host.fault_batch": 1e-6})
    case = Case(make_trace(fight), machine, "none", driver, 4 * SMALL.block)
    monkeypatch.setattr(fast_form, "_REMEMBERED", 21 * 10**9)  # longer than an epoch
    times: list[int] = []

    def noted(memory: Memory, histories: Histories) -> int:
        ticks = set_back(memory, histories)
        times.append(ticks)
        return ticks

    set_back = fast_form._set_back
    monkeypatch.setattr(fast_form, "_set_back", noted)
    events, fast = both(case)
    assert events == fast
    assert fast.total.pinned > 0
    assert any(ticks > 0 for ticks in times)


def test_they_are_equal_on_a_stream_of_batches_as_the_engine_traced_it() -> None:
    stream = workload(generate("rmat:11:8"), batches=3, size=50, seed=1)
    engine = Engine(stream.graph(), SSSP(0), system="grapin-page", trace=True, threads=1)
    for batch in stream:
        engine.apply(batch)
    driver = replace(DRIVER, big_page=16 * 1024, block=64 * 1024)
    events, fast = both(Case(engine.trace, MACHINES["a5000"], "none", driver, 4 * driver.block))
    assert events == fast
    assert fast.total.evictions > 0
    assert fast.total.host_faults > 0


def test_they_are_equal_on_a_real_graph_that_does_not_fit(shared_data: Path) -> None:
    graph = load(shared_data / "wiki-Vote.txt.zst")
    engine = Engine(graph, BFS(30), system="grapin-recomp", trace=True, threads=1)
    driver = replace(DRIVER, big_page=16 * 1024, block=64 * 1024)
    events, fast = both(Case(engine.trace, MACHINES["v100"], "read-mostly", driver, 2 * driver.block))
    assert events == fast
    assert fast.total.evictions > 0


def test_the_event_form_shows_batches_copies_and_waiting_on_a_timeline(tmp_path: Path) -> None:
    timeline = Timeline()
    trace = make_trace([Phase([[(0, 200, 2, False, False)]])])
    replay = replay_unified_events(trace, small_machine(), driver=SMALL, timeline=timeline)
    timeline.save(tmp_path / "timeline.json")
    events = json.loads((tmp_path / "timeline.json").read_text())["traceEvents"]
    shown = [event for event in events if event["ph"] == "X"]
    tracks = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert tracks >= {"driver", "copies to the GPU", "GPU waits"}
    assert len([event for event in shown if "blocks" in event["name"]]) == replay.total.batches
