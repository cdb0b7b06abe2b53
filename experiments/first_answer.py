"""How long from nothing to an answer? A fresh process imports grapin, starts a query and applies a batch.

The first process may have to compile; the ones after it find the machine code on disk, and they are measured, from
outside: starting Python, importing, answering, leaving.
"""

import subprocess
import sys
from collections.abc import Sequence
from statistics import median
from time import perf_counter

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
