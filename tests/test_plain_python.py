"""With NUMBA_DISABLE_JIT=1, the field's way to step through a kernel, the kernels run as the Python they are."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys
import numpy as np
import grapin
from grapin.compiled import compilations
from grapin.engine.verify import verify_answer
from grapin.system import RUNNABLE

random = np.random.default_rng(7)
programs = {
    "bfs": grapin.BFS(0), "sssp": grapin.SSSP(0), "sswp": grapin.SSWP(0), "cc": grapin.ConnectedComponents(),
    "pagerank": grapin.PageRank(),
}
batches = 0
for directed in (True, False):
    ends = random.integers(0, 20, (60, 2))
    pairs = np.unique(ends if directed else np.sort(ends), axis=0)
    weights = random.integers(1, 9, len(pairs))
    for system in RUNNABLE:
        graph = grapin.Graph.from_edges(*pairs.T, weights, directed=directed)
        engine = grapin.Engine(graph, programs[sys.argv[1]], device="cpu", system=system, threads=2)
        for _ in range(2):
            gone = pairs[random.choice(len(pairs), 5, replace=False)]
            for batch in (
                grapin.Batch(delete=gone.tolist()),
                grapin.Batch(insert=[(*pair, int(random.integers(1, 9))) for pair in gone.tolist()]),
            ):
                engine.apply(batch)
                verify_answer(engine.answers[0], graph)
                batches += 1
        graph.check()
print(batches, compilations())
"""


@pytest.mark.parametrize("program", ["bfs", "sssp", "sswp", "cc", "pagerank"])
def test_every_system_runs_without_a_compiler_and_gives_the_answers_of_the_reference(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, program],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    batches, compiled = map(int, done.stdout.split())
    assert batches >= 40
    assert compiled == 0
