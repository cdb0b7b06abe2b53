"""How long to the first answer? A fresh process imports grapin, starts a query and applies a batch.

    grapin experiments run first_answer [--quick]
    python -m experiments.first_answer against CHECKOUT [ROUNDS]

The first process may have to compile; the ones after it find the machine code on disk, and they are measured, from
outside: starting Python, importing, answering, leaving.

`against` compares what compilation costs with another checkout of this repository: processes with an empty cache, in
turns, in CPU-seconds (which a busy machine changes less than time), to the first answer and batch of SSSP, and of SSWP
in the same process; medians, and the ten functions that take longest to compile.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from experiments.lib.bars import Bar, figures, kept, sentence, span, told
from experiments.lib.experiment import Experiment

IMPORT = "import grapin"
ANSWER = """
import grapin
graph = grapin.Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3], [5, 1, 1, 2])
engine = grapin.Engine(graph, grapin.SSSP(source=0))
assert engine.values.tolist() == [0, 5, 1, 3]
engine.apply(grapin.Batch(delete=[(2, 3)]))
assert engine.values.tolist() == [0, 5, 1, 6]
"""
COLD = """
import json, time
import grapin
from numba.core import event


class Costs(event.Listener):
    own, stack = {}, []

    def on_start(self, begun):
        self.stack.append([time.process_time(), 0.0])

    def on_end(self, over):
        begin, inner = self.stack.pop()
        seconds, name = time.process_time() - begin, over.data["dispatcher"].py_func.__qualname__
        self.own[name] = self.own.get(name, 0.0) + seconds - inner
        if self.stack:
            self.stack[-1][1] += seconds


costs, spent = Costs(), [0.0]
event.register("numba:compile", costs)
for program in (grapin.SSSP(source=0), grapin.SSWP(source=0)):
    graph = grapin.Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3], [5, 1, 1, 2])
    engine = grapin.Engine(graph, program, device="cpu")
    engine.apply(grapin.Batch(delete=[(2, 3)]))
    answer = engine.values.tolist()
    spent.append(time.process_time())
print(json.dumps({"spent": spent, "functions": costs.own}))
"""
MOST_SECONDS = 3.0
ROUNDS = 5
FIRST, BARE = "import and first answer in a fresh process", "import alone in a fresh process"


def seconds(script: str) -> float:
    """Return how long a Python process takes to execute the script."""
    begin = perf_counter()
    subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603  # our own text, our own Python
    return perf_counter() - begin


def bars(*, quick: bool) -> list[Bar]:
    """Measure a first answer, and the bare import beside it."""
    first = seconds(ANSWER)
    rounds = range(1 if quick else ROUNDS)
    answers, imports = zip(*((seconds(ANSWER), seconds(IMPORT)) for _ in rounds), strict=True)
    remark = f"shortest distances on 4 vertices, before and after a batch; {first:.2f} s in the run before"
    return [Bar(FIRST, median(answers), "s", MOST_SECONDS, remark), Bar(BARE, median(imports), "s")]


def cold(checkout: Path) -> dict[str, Any]:
    """Return what a process of this checkout spent that found nothing compiled."""
    with tempfile.TemporaryDirectory() as empty:
        environment = {**os.environ, "PYTHONPATH": str(checkout), "NUMBA_CACHE_DIR": empty}
        done = subprocess.run(  # noqa: S603  # our own text, our own Python
            [sys.executable, "-c", COLD],
            env=environment,
            cwd=empty,
            capture_output=True,
            text=True,
            check=True,
        )
    spent: dict[str, Any] = json.loads(done.stdout)
    return spent


def against(other: Path, rounds: int) -> None:
    """Print what a first answer costs here and in another checkout, with the functions dearest to compile."""
    here = Path(__file__).resolve().parents[1]
    ours, theirs = zip(*((cold(here), cold(other)) for _ in range(rounds)), strict=True)
    for place, name in enumerate(("first answer and batch", "second program"), 1):
        one, two = (
            median(each["spent"][place] - each["spent"][place - 1] for each in runs)
            for runs in (ours, theirs)
        )
        print(f"{name}: {one:.2f} CPU-s here, {two:.2f} there, ratio {one / two:.3f} (median of {rounds})")
    functions = ours[-1]["functions"]
    print(f"{len(functions)} functions compiled here, {len(theirs[-1]['functions'])} there; dearest here:")
    for name in sorted(functions, key=functions.__getitem__, reverse=True)[:10]:
        print(f"{functions[name]:6.2f} CPU-s  {name}")


def _answer(bars: Sequence[Bar]) -> str:
    first, bare = (span(figures(bars, name), "s") for name in (FIRST, BARE))
    return sentence(
        told(
            "{} from starting Python to fresh values after a batch, {} of it to start and import", first, bare
        ),
        kept(bars),
    )


EXPERIMENT = Experiment(
    name="first_answer",
    question="How long from starting Python to the first answer?",
    measure=bars,
    answer=_answer,
    configuration={"rounds": ROUNDS},
)

if __name__ == "__main__":
    if sys.argv[1:2] != ["against"] or len(sys.argv) < 3:
        sys.exit("python -m experiments.first_answer against CHECKOUT [ROUNDS]")
    against(Path(sys.argv[2]).resolve(), int(sys.argv[3]) if len(sys.argv) > 3 else ROUNDS)
