"""No kernel reads or writes beyond its arrays, on streams from graphs without edges and from drawn ones alike.

A deep run executes all tests of store, CPU device and model in this way (`make test-deep`); this is a sample of it.
"""

import os
import subprocess
import sys
from pathlib import Path

from grapin.programs import PROGRAMS, Accumulative
from grapin.system import RUNNABLE

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
from itertools import product

import numba

from grapin.programs import PROGRAMS, Accumulative, find_program
from grapin.system import RUNNABLE
from grapin.testing import Setup, Weights, search

assert numba.config.BOUNDSCHECK
for program, system, growing in product(PROGRAMS, RUNNABLE, (True, False)):
    if system != "bounded" and issubclass(find_program(program), Accumulative) and program != "pagerank":
        continue  # the same kernels as PageRank's
    weights = Weights.read("0:9" if getattr(find_program(program), "weighted", False) else "none")
    setup = Setup(program, "cpu", system)
    searched = search(setup, weights=[weights], growing=growing, hubs=not growing, examples=15)
    assert searched.failure is None, searched.failure.script()
    assert searched.unanswered < searched.examples, (setup, searched)
    print(setup, "from graphs without edges" if growing else "from drawn graphs", searched.examples)
"""


def test_no_kernel_reaches_beyond_its_arrays() -> None:
    # Compiling takes nearly all of the time, so what was compiled is kept, apart from what users run.
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(ROOT / ".numba_bounds")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    accumulative = [kind for kind in PROGRAMS.values() if issubclass(kind, Accumulative)]
    others = len(PROGRAMS) - len(accumulative) + 1
    assert len(done.stdout.splitlines()) == 2 * (others * len(RUNNABLE) + len(accumulative) - 1)
