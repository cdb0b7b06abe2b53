"""A system that copies lists is predicted from the tasks of its own run; stations serve them as an event model does."""

from collections.abc import Generator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import simpy
from hypothesis import given
from hypothesis import strategies as st

from grapin import BFS, SSSP, Engine
from grapin.errors import InvalidArgument
from grapin.generators import generate
from grapin.graph import Graph
from grapin.partitions import Choice
from grapin.sim import find_machine, replay
from grapin.sim.timeline import Timeline
from grapin.sim.transfer.tasks import Stages, overlap
from grapin.system import STAGED, SYSTEMS
from grapin.trace import Trace

pytest.importorskip("numba.cuda", reason="this Numba has no CUDA names")

times = st.integers(0, 20).map(float)
copies = st.lists(st.tuples(times, times, times, st.just(True)), min_size=1, max_size=12)
tasks = st.lists(st.tuples(times, times, times, st.booleans()), min_size=1, max_size=12)


def staged(drawn: list[tuple[float, float, float, bool]]) -> Stages:
    host, link, device, copied = (np.array(column) for column in zip(*drawn, strict=True))
    return Stages(np.where(copied, host, 0.0), link, device, copied.astype(np.bool_))


def simulated(stages: Stages, streams: int) -> list[float]:
    """Return when each task is done, where stations are resources of SimPy and buffers a store of tokens."""
    env = simpy.Environment()
    host, link, device = (simpy.Resource(env) for _ in range(3))
    done = [env.event() for _ in stages.link]
    ended = [0.0] * len(done)

    def turn(resource: simpy.Resource, wait: list[simpy.Event], lasts: float) -> simpy.Event:
        finished = env.event()

        def serve() -> Generator[simpy.Event, None, None]:
            with resource.request() as mine:
                yield mine
                yield env.all_of(wait)
                yield env.timeout(lasts)
            finished.succeed()

        env.process(serve())
        return finished

    def finish(place: int, events: list[simpy.Event]) -> Generator[simpy.Event, None, None]:
        yield env.all_of(events)
        ended[place] = env.now
        done[place].succeed()

    for place in range(len(done)):
        free = [done[place - streams]] if place >= streams else []
        gathered = turn(host, free, stages.host[place]) if stages.host[place] else env.all_of(free)
        sent = turn(link, [gathered], stages.link[place])
        env.process(finish(place, [turn(device, [sent], stages.device[place])]))
    env.run()
    return ended


@given(drawn=copies, streams=st.integers(1, 4))
def test_copies_are_served_as_in_an_event_model(
    drawn: list[tuple[float, float, float, bool]], streams: int
) -> None:
    stages = staged(drawn)
    assert [span.device[1] for span in overlap(stages, streams)] == simulated(stages, streams)


@given(drawn=tasks, streams=st.integers(1, 4))
def test_no_station_serves_two_tasks_at_once_and_more_buffers_never_take_longer(
    drawn: list[tuple[float, float, float, bool]], streams: int
) -> None:
    stages = staged(drawn)
    spans = overlap(stages, streams)
    for station in ("host", "link"):
        served = [getattr(span, station) for span in spans]
        assert all(second[0] >= first[1] for first, second in pairwise(served))
    ends = [span.device[1] for span in spans]
    assert ends == sorted(ends)
    assert max(ends) >= max(stages.link.sum(), stages.device.sum())
    assert max(span.device[1] for span in overlap(stages, streams + 1)) <= max(ends)


def recorded(name: str) -> tuple[Trace, Engine]:
    settings = {"exptm-filter": {"transfer.partition": "8K"}, "hytgraph-icde": {"transfer.partition": "8K"}}
    system = SYSTEMS[name].with_settings(settings.get(name, {"transfer.memory": "16K"}))
    edges = generate("rmat:8:8", seed=0)
    graph = Graph.from_edges(edges.source, edges.target, edges.weight, vertices=edges.vertices)
    engine = Engine(
        graph, SSSP(int(np.argmax(graph.snapshot().out.degrees))), system=system, device="onelane", trace=True
    )
    return engine.trace, engine


@pytest.mark.parametrize("name", ["exptm-filter", "subway-sync", "subway-async", "hytgraph-icde"])
def test_what_a_run_copied_and_read_is_what_is_predicted_to_cross_the_link(name: str, tmp_path: Path) -> None:
    trace, engine = recorded(name)
    counters = engine.started.counters
    assert trace.counters().link_bytes == counters.link_bytes
    timeline = Timeline()
    found = replay(trace, name, "a5000", timeline=timeline).total
    assert found.counters.copied_bytes == counters.copied_bytes
    assert found.counters.requests == counters.requests
    assert found.counters.edges == counters.edges
    seconds = found.seconds
    assert seconds.total >= max(seconds.link, seconds.device, seconds.host)
    shown = {event["name"] for event in timeline.events() if event["ph"] == "X"}
    ways = {Choice(way).name.lower().replace("_", "-") for way in trace.tasks["way"].tolist()}
    assert shown <= ways
    assert shown
    assert (np.diff(trace.task) >= 0).all()
    trace.save(tmp_path / "run.npz")
    again = Trace.load(tmp_path / "run.npz")
    assert {key: column.tolist() for key, column in again.tasks.items()} == {
        key: column.tolist() for key, column in trace.tasks.items()
    }


def test_a_faster_link_never_makes_tasks_slower() -> None:
    trace, _ = recorded("subway-async")
    seconds = [
        replay(
            trace, "subway-async", find_machine("a5000").with_settings({"link.generation": generation})
        ).seconds
        for generation in (3, 4, 5)
    ]
    assert seconds == sorted(seconds, reverse=True)


def test_a_trace_of_another_system_s_tasks_is_refused_with_the_run_that_is_needed() -> None:
    trace, _ = recorded("subway-sync")
    with pytest.raises(InvalidArgument, match=r"system='emogi' must be subway-sync.*grapin run --system"):
        replay(trace, "emogi", "a5000")


def test_an_older_trace_has_no_tasks() -> None:
    engine = Engine(Graph.from_edges([0], [1]), BFS(0), device="onelane", trace=True)
    assert (engine.trace.task == -1).all()
    assert replace(engine.trace).counters() == engine.trace.counters()
    assert set(STAGED) <= set(SYSTEMS)
