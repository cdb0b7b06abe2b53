"""Engines with a cache: a replay of their trace counts the same, and `adaptive` never sends more than no cache."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import grapin
from grapin.cache import CacheSettings, replay
from grapin.counters import Counters
from grapin.engine.verify import verify_engine
from grapin.kernels.cpu.device import HostCache
from grapin.programs import SSSP, PageRank
from grapin.testing import MutationStream, mutation_streams

POLICIES = ("none", "published", "adaptive")


FEW = settings(max_examples=8)
"""An engine is computed and verified for each example; the cache itself is tried with many more elsewhere."""


@st.composite
def rooms(draw: st.DrawFn, policy: str) -> CacheSettings:
    """Draw rooms from none at all to more than enough, in chunks that hold few lists or all."""
    capacity = draw(st.integers(0, 64) | st.integers(0, 2000), label="capacity")
    chunk = draw(st.integers(8, 80) | st.just(1 << 20), label="chunk")
    return CacheSettings(policy, capacity, chunk=chunk, window=draw(st.integers(1, 4), label="window"))


def engine_with(cache: CacheSettings, stream: MutationStream, system: str) -> grapin.Engine:
    graph = grapin.Graph.from_edges(**stream.start)
    assume(graph.vertices)
    source = int(np.flatnonzero(graph.alive())[0])
    return grapin.Engine(
        graph, [SSSP(source), PageRank()], system=system, device="cpu", threads=1, trace=True, cache=cache
    )


@pytest.mark.parametrize("system", ["bounded", "grapin-zc"])
@pytest.mark.parametrize("policy", POLICIES)
@FEW
@given(data=st.data())
def test_a_replay_of_the_trace_counts_what_the_engine_counted(
    policy: str, system: str, data: st.DataObject
) -> None:
    stream = data.draw(mutation_streams(weights="int32"))
    engine = engine_with(data.draw(rooms(policy)), stream, system)
    cache = engine._cache
    assert isinstance(cache, HostCache)
    reports = [engine.started]
    for batch in stream.batches:
        reports.append(engine.apply(batch))
        verify_engine(engine)
    trace = engine.trace
    replayed = list(
        replay(
            cache.hot.settings,
            trace.reads,
            trace.phases,
            trace.changes,
            arrays=trace.about["cache"]["arrays"],
        )
    )
    counted = [query.work.counters for report in reports for query in report.queries]
    again = [
        observed.counters if plan is None else plan.counters + observed.counters
        for plan, observed in replayed
    ]
    assert counted == again
    held = np.concatenate([observed.held for _, observed in replayed])
    assert (trace.reads["cached"] == (held >= trace.reads["arrays"])).all()


@pytest.mark.parametrize("system", ["bounded", "grapin-zc"])
@FEW
@given(data=st.data())
def test_adaptive_never_sends_more_than_no_cache_whatever_the_stream(
    system: str, data: st.DataObject
) -> None:
    stream = data.draw(mutation_streams(weights="int32"))
    engine = engine_with(CacheSettings("none", 0), stream, system)
    for batch in stream.batches:
        engine.apply(batch)
    trace = engine.trace
    room = data.draw(rooms("adaptive"))
    phases = list(replay(room, trace.reads, trace.phases, trace.changes))
    for number, (plan, observed) in enumerate(phases):
        assert plan is None or plan.counters == Counters()
        assert observed.counters.link_bytes <= trace.counters(number).bytes


@pytest.mark.parametrize("policy", [*POLICIES, "oracle"])
@FEW
@given(data=st.data())
def test_what_was_held_and_what_crossed_add_up_to_what_was_read(policy: str, data: st.DataObject) -> None:
    stream = data.draw(mutation_streams(weights="none"))
    engine = engine_with(CacheSettings("none", 0), stream, "bounded")
    for batch in stream.batches:
        engine.apply(batch)
    trace = engine.trace
    room = data.draw(rooms(policy))
    for number, (_, observed) in enumerate(replay(room, trace.reads, trace.phases, trace.changes)):
        rows = trace.reads["phase"] == number
        every = trace.counters(number)
        crossed = observed.counters
        assert (crossed.edges, crossed.lists) == (every.edges, every.lists)
        missing = observed.held == 0
        assert crossed.cached_edges == every.edges - int(trace.reads["length"][rows][missing].sum())
        assert crossed.bytes <= every.bytes


def test_no_cache_counts_what_the_engine_counts_without_one() -> None:
    edges = grapin.generate("rmat:8:8")
    stream = grapin.stream.workload(edges, batches=3, size=50, seed=1)
    plain = grapin.Engine(stream.graph(), SSSP(0), device="cpu", threads=1)
    cached = grapin.Engine(stream.graph(), SSSP(0), device="cpu", threads=1, cache=CacheSettings("none", 0))
    for batch in stream:
        first, second = plain.apply(batch).counters, cached.apply(batch).counters
        assert [getattr(first, one.name) for one in fields(first)] == [
            getattr(second, one.name) for one in fields(second)
        ]
