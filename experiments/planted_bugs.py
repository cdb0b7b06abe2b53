"""Does `grapin check` find bugs? Five are planted in real devices: streams until each shows, rows that reproduce it.

The bugs live beside the tests, in `tests/testing/planted`.
"""

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from experiments.bars import Bar, print_bars, record_bars
from grapin.testing import Setup, Weights, find_failure
from grapin.user_code import load_user_code

PLANTED = Path(__file__).resolve().parents[1] / "tests" / "testing" / "planted"
DEVICES = {
    "non-atomic minimum": "non_atomic_minimum",
    "stale parent": "stale_parent",
    "lost deletion": "lost_deletion",
    "off-by-one list end": "short_lists",
}
CACHED = "cached list not patched"
PROGRAM = "sssp"
WEIGHTS = "0:9"
EXAMPLES = 500
MOST_ROWS = 10


def main() -> int:
    """Search for each bug, print what it took, record it, and return whether one was missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one of the bugs, to see that it runs")
    quick = parser.parse_args().quick
    bars = [bar for bug in ([CACHED] if quick else [*DEVICES, CACHED]) for bar in measure(bug)]
    print_bars(f"Planted bugs, within {EXAMPLES} streams", bars)
    configuration = {"quick": quick, "examples": EXAMPLES, "weights": WEIGHTS, "program": PROGRAM}
    print(f"recorded in records/{record_bars('planted_bugs', configuration, bars).name}")
    return int(any(bar.verdict == "FAIL" for bar in bars))


def measure(bug: str) -> list[Bar]:
    """Return how many streams it took to find one bug, and how many rows reproduce it."""
    setup = Setup(PROGRAM, "cpu", cache="adaptive:100%") if bug == CACHED else Setup(PROGRAM, _device(bug))
    with _planted(bug):
        failure = find_failure(setup, weights=[Weights.read(WEIGHTS)], hubs=False, examples=EXAMPLES)
    if failure is None:
        return [Bar(f"{bug}: not found", float("inf"), "streams", EXAMPLES)]
    edges, mutations = len(failure.case.edges), failure.case.mutations
    return [
        Bar(f"{bug}: found", failure.examples, "streams", EXAMPLES, failure.complaint),
        Bar(
            f"{bug}: reproduced",
            edges + mutations,
            "rows",
            MOST_ROWS,
            f"{edges} edges, {mutations} mutations",
        ),
    ]


def _device(bug: str) -> str:
    return str(PLANTED / f"{DEVICES[bug]}.py")


def _planted(bug: str) -> Any:
    if bug != CACHED:
        return nullcontext()
    return load_user_code("planted", f"{PLANTED / 'unpatched_copies.py'}:unpatched_copies")()


if __name__ == "__main__":
    sys.exit(main())
