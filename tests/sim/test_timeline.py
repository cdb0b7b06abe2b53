"""A timeline is a file that viewers open, true to what it was told, and small however long a run is."""

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path as FilePath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_traces import lists_of, paths, trace_of, traces

from grapin.errors import InvalidArgument
from grapin.sim import MACHINES
from grapin.sim.oracle.zero_copy import replay_events
from grapin.sim.path import Path
from grapin.sim.timeline import Timeline
from grapin.trace import Trace

intervals = st.lists(
    st.tuples(st.integers(0, 10**10), st.integers(1, 10**8)).map(lambda one: (one[0], sum(one))), min_size=1
)
PHASES = {"X", "C", "M"}


def counts(timeline: Timeline, name: str) -> list[tuple[float, float]]:
    return [
        (event["ts"], event["args"]["mean"])
        for event in timeline.events()
        if event["ph"] == "C" and event["name"] == name
    ]


@settings(max_examples=15)
@given(traces, paths)
def test_what_the_event_model_writes_is_what_viewers_ask_for(trace: Trace, path: Path) -> None:
    timeline = Timeline()
    replay_events(trace, path, timeline=timeline)
    rows: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for event in json.loads(json.dumps(timeline.events())):
        assert event["ph"] in PHASES
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        assert event["name"]
        if event["ph"] == "X":
            assert event["dur"] >= 0
            rows[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for slices in rows.values():
        assert all(end <= begin + 1e-6 for (_, end), (begin, _) in pairwise(slices))


@settings(max_examples=15)
@given(traces, paths)
def test_wires_are_never_more_than_busy_and_tags_never_more_than_there_are(trace: Trace, path: Path) -> None:
    timeline = Timeline()
    replay_events(trace, path, timeline=timeline)
    for wire in ("upstream busy", "downstream busy"):
        assert all(0 <= mean <= 1 for _, mean in counts(timeline, wire))
    assert all(0 <= mean <= path.tags for _, mean in counts(timeline, "tags in use"))


def test_a_run_of_few_requests_shows_each_of_them() -> None:
    path = Path(MACHINES["v100"])
    timeline = Timeline()
    replayed = replay_events(trace_of([[(0, 40, 2)], [(32, 8, 1)]]), path, timeline=timeline)
    shown = [event for event in timeline.events() if event["ph"] == "X" and event["name"].endswith(" B")]
    assert sorted(event["name"] for event in shown) == ["128 B", "128 B", "32 B", "32 B", "32 B"]
    names = [event["name"] for event in timeline.events() if event["ph"] == "X" and event not in shown]
    assert names == ["launch", "iteration 0", "launch", "iteration 1"]
    assert max(event["ts"] + event["dur"] for event in shown) == pytest.approx(replayed.seconds * 1e6)


@given(intervals, st.integers(2, 64))
def test_levels_keep_how_much_there_was_however_often_they_are_widened(
    parts: list[tuple[int, int]], most: int
) -> None:
    timeline = Timeline(intervals=most)
    for begin, end in parts:
        timeline.level("wire", begin, end, 2.0)
    points = counts(timeline, "wire")
    assert len(points) <= most + 1
    area = sum(mean * (later - ts) for (ts, mean), (later, _) in pairwise(points))
    assert area * 1e9 == pytest.approx(sum(2.0 * (end - begin) for begin, end in parts))


@given(st.integers(0, 500), st.integers(2, 20))
def test_slices_are_thinned_out_evenly_and_the_first_is_kept(count: int, most: int) -> None:
    timeline = Timeline(slices=most)
    for number in range(count):
        timeline.slice("reads", str(number), 10 * number, 10 * number + 15)
    shown: list[dict[str, Any]] = [event for event in timeline.events() if event["ph"] == "X"]
    numbers = [int(event["name"]) for event in shown]
    assert len(numbers) <= most
    assert numbers == list(range(0, count, numbers[1] if len(numbers) > 1 else max(1, count)))
    assert count < most or len(numbers) >= most // 2


def test_the_file_of_a_long_run_stays_small(tmp_path: FilePath) -> None:
    timeline = Timeline()
    trace = trace_of([lists_of(seed, 1000, 100, 2) for seed in range(2)])
    replayed = replay_events(trace, Path(MACHINES["v100"]), timeline=timeline)
    timeline.save(tmp_path / "run.json")
    assert sum(replayed.requests.values()) > 2 * 4096
    assert (tmp_path / "run.json").stat().st_size < 2**20
    saved = json.loads((tmp_path / "run.json").read_text())
    assert saved["traceEvents"] == timeline.events()
    titles = [event["args"]["name"] for event in saved["traceEvents"] if event["name"] == "process_name"]
    assert titles == ["levels", "reads (one of 4)", "iterations"]


@pytest.mark.parametrize("name", ["slices", "intervals"])
def test_room_for_less_than_two_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgument, match=f"{name}=1 must be at least 2"):
        Timeline(**{name: 1})
