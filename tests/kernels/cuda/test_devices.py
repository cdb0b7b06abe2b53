"""The devices `cuda` and `cudasim` by name: side by side with the CPU, or one sentence that says why not."""

import subprocess
import sys
from dataclasses import replace

import pytest

from grapin import SSSP, Batch, ConnectedComponents, Engine, Graph
from grapin.device import device, open_device
from grapin.engine.verify import verify_answer
from grapin.errors import DeviceUnavailable
from grapin.kernels.cuda import device as cuda_device
from grapin.system import SYSTEMS, Resident

pytest.importorskip("numba.cuda", reason="the cudasim extra is not installed")


def small() -> Graph:
    return Graph.from_edges([0, 0, 1, 2, 3], [1, 2, 3, 3, 4], [4, 1, 1, 2, 5], vertices=6)


def test_the_simulator_follows_a_graph_by_name_and_the_cpu_goes_on_beside_it() -> None:
    graph = small()
    engine = Engine(graph, [SSSP(0), ConnectedComponents()], device="cudasim", trace=True)
    batch = Batch(delete=[(2, 3)], insert=[(4, 5, 1)])
    engine.apply(batch)
    for answer in engine.answers:
        verify_answer(answer, graph)
    assert engine.answers[0].path(5) == [0, 1, 3, 4, 5]
    assert engine.trace.counters(phase=0) == engine.started.queries[0].work.counters
    other = small()
    beside = Engine(other, SSSP(0), device="cpu", threads=1)
    beside.apply(batch)
    assert beside.values.tolist() == engine.answers[0].values.tolist()


def test_a_resident_copy_takes_the_link_once_and_then_what_changes() -> None:
    graph = small()
    system = replace(SYSTEMS["bounded"], name="here", transfer=Resident())
    engine = Engine(graph, SSSP(0), device="cudasim", system=system)
    snapshot = graph.snapshot()
    assert snapshot.in_ is not None
    slots = len(snapshot.out.neighbours) + len(snapshot.in_.neighbours)
    assert engine.started.counters.copied_bytes == 8 * slots
    assert engine.started.counters.bytes == 0
    report = engine.apply(Batch(insert=[(0, 4, 2)]))
    verify_answer(engine.answers[0], graph)
    # Two lists changed, with three and two edges: a position of 8 bytes, an id and a weight each.
    assert report.counters.link_bytes == (3 + 2) * 16


def test_without_a_gpu_cuda_says_what_is_missing_and_auto_takes_the_cpu() -> None:
    reason = cuda_device.unavailable()
    if reason is None:
        pytest.skip("there is a GPU here")
    with pytest.raises(DeviceUnavailable, match="device='cuda' cannot be used here: "):
        Engine(small(), SSSP(0), device="cuda")
    assert open_device("auto").name == "cpu"
    assert device("cudasim").unavailable() is None
    assert "\n" not in reason


def test_importing_grapin_and_using_the_cpu_loads_no_cuda() -> None:
    program = (
        "import sys, grapin.device\n"
        "grapin.device.open_device('auto')\n"
        "assert not any(name.startswith(('numba.cuda', 'cupy', 'cuda.')) for name in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
