"""An engine keeps several programs fresh on the simulated GPU, monotone and accumulative ones."""

import numpy as np
import pytest

import grapin
from grapin import Batch, Engine, Graph
from grapin.engine.verify import verify_answer

pytest.importorskip("numba.cuda", reason="the cudasim extra is not installed")


@pytest.mark.parametrize(("system", "directed"), [("bounded", True), ("grapin", False)])
def test_programs_share_an_engine_on_the_simulator(system: str, *, directed: bool) -> None:
    graph = Graph.from_edges([0, 1, 2, 3, 3], [1, 2, 3, 0, 4], [2, 1, 4, 3, 1], vertices=6, directed=directed)
    programs = [grapin.SSSP(0), grapin.PageRank(tolerance=1e-1)]
    engine = Engine(graph, programs, device="cudasim", system=system, trace=True)
    reports = [engine.started]
    for batch in (
        Batch(insert=[(0, 5, 1), (5, 4, 1)], delete=[(3, 4)]),
        Batch(delete_vertices=[2], insert_vertices=[6], insert=[(6, 0, 1), (0, 6, 1)]),
    ):
        reports.append(engine.apply(batch))
        for answer in engine.answers:
            verify_answer(answer, graph)
    counted = [query.work.counters for report in reports for query in report.queries]
    assert [engine.trace.counters(phase) for phase in range(len(counted))] == counted
    assert engine.answers[0].path(4)[0] == 0
    assert not np.any(engine.answers[1].parents >= 0)
    assert {"answers[0].words", "answers[1].residual", "answers[1].index"} <= engine.memory().keys()
