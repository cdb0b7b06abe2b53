"""Miniatures keep Grapin's ratios, and a run's rounds read what the published repairs read."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.lib import grapin_runs
from experiments.lib.grapin_runs import BATCH, CACHE, MACHINE, Miniature, generated, miniatures, record
from grapin import Batch
from grapin.counters import Counters
from grapin.generators import generate
from grapin.sim import MACHINES, replay
from grapin.sim.path import read_requests
from grapin.sim.prediction import Costs, Seconds
from grapin.stream import Stream
from grapin.trace import Trace


def small() -> Miniature:
    return generated("OK", 4000)


def read(trace: Trace, phase: int) -> int:
    return int(trace.reads["length"][trace.reads["phase"] == phase].sum())


def test_batches_and_cache_are_as_large_a_part_as_the_graph_is() -> None:
    for miniature in miniatures(quick=True, names=("OK", "WK")):
        edges = len(miniature.edges) / miniature.original.edges
        assert miniature.cache / CACHE == pytest.approx(edges, rel=1e-3)
        assert len(list(miniature.stream())) == 10
        assert all(abs(batch.size - BATCH * edges) <= 1 for batch in miniature.stream())


def test_every_graph_has_one_stand_in_which_is_generated_where_no_real_one_is_at_hand(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(grapin_runs, "DATA", tmp_path)
    monkeypatch.setattr(grapin_runs, "EDGES", 1000)
    chosen = list(grapin_runs.stand_ins(quick=False))
    assert [one.original.name for one in chosen] == list(grapin_runs.ORIGINALS)
    assert all(one.name.startswith("rmat:") for one in chosen)
    assert len(list(grapin_runs.stand_ins(quick=True))) == 1


def test_waiting_is_counted_once_and_what_the_link_is_busy_with_as_often_as_the_original_is_larger() -> None:
    miniature = small()
    counters = Counters(requests_128=1000, patch_bytes=320)
    busy = read_requests(MACHINES[MACHINE], {32: 10, 128: 1000}).seconds
    for waiting in (0.0, 1.0):
        costs = Costs(counters, seconds=Seconds(link=busy + waiting))
        assert miniature.seconds(costs) == pytest.approx(busy / miniature.part + waiting)


def test_what_pages_and_their_faults_take_grows_with_the_graph() -> None:
    miniature = small()
    costs = Costs(migrated_bytes=4096, seconds=Seconds(link=0.2, faults=0.3, launches=0.1))
    assert miniature.seconds(costs) == pytest.approx(0.5 / miniature.part + 0.1)


def test_batches_reach_the_device_in_a_copy_each_however_little_they_make_it_read() -> None:
    miniature, machine = small(), MACHINES[MACHINE]
    stream = miniature.stream(size=1e6, batches=3)
    least = 3 * (machine.link.round_trip + machine.gpu.launch)
    copied = 3 * 12 * 1e6 / machine.link.rate
    assert least + copied < miniature.arrival(stream) < least + 1.2 * copied


@pytest.mark.parametrize("program", ["sssp", "bfs", "cc", "pagerank"])
def test_each_repair_has_a_trace_of_the_same_batches_that_the_model_replays(program: str) -> None:
    stream = small().stream(size=2e6, batches=2, undirected=program == "cc")
    runs = record(stream, program, ("published", "recompute", "bounded"))
    for repair, system in (
        ("published", "grapin-zc"),
        ("recompute", "grapin-recomp"),
        ("bounded", "bounded"),
    ):
        assert runs[repair].trace.phases["version"].tolist() == [0, 1, 2]
        assert len(runs[repair].update_seconds) == 2
        batches = replay(runs[repair].trace, system, MACHINE).batches
        assert batches.counters.edges == read(runs[repair].trace, 1) + read(runs[repair].trace, 2)
    changed = [sorted(run.trace.changes["vertex"].tolist()) for run in runs.values()]
    assert changed[0] == changed[1] == changed[2]


@pytest.mark.parametrize("program", ["sssp", "bfs", "cc"])
def test_the_published_repair_reads_a_pass_a_batch_and_computing_from_scratch_what_it_read_at_first(
    program: str,
) -> None:
    miniature = small()
    edges = replace(miniature.edges, directed=program != "cc")
    nothing = Stream(lambda: iter([Batch()]), length=1, start=edges)
    runs = record(nothing, program, ("published", "recompute"))
    reached = runs["published"].trace.reads
    every = dict(zip(reached["vertex"].tolist(), reached["length"].tolist(), strict=True))
    assert read(runs["published"].trace, 1) == sum(every.values())
    assert read(runs["recompute"].trace, 1) == read(runs["recompute"].trace, 0) >= sum(every.values())


def test_correction_reads_the_lists_below_a_lost_edge_level_by_level_without_weights() -> None:
    path = generate("path:6")
    stream = Stream(lambda: iter([Batch(delete=[(2, 3)])]), length=1, start=path)
    trace = record(stream, "sssp", ("published",))["published"].trace
    rows = trace.reads["phase"] == 1
    vertex, arrays, iteration = (trace.reads[name][rows] for name in ("vertex", "arrays", "iteration"))
    lost = arrays == 1
    assert vertex[lost].tolist() == [3, 4]  # 5 has no list
    assert iteration[lost].tolist() == [0, 1]
    assert vertex[~lost].tolist() == [0, 1]  # 2 has lost its only edge
    assert np.all(iteration[~lost] > 1)
