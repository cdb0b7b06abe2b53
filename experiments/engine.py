"""The bars of the engine: what it reads, how long batches take, where it starts from, what growth and traces cost.

    python -m experiments.engine [--quick]

Ratios are taken within one run, since machines differ and are shared. Property tests have their own command.
"""

import argparse
import sys

from rich.console import Console

from experiments import first_answer, growth, initial, latency, pagerank, reads, tracing
from experiments.bars import Bar, print_bars, record_bars

PARTS = {
    "edges read by repairs": reads.bars,
    "time a batch": latency.bars,
    "the initial fixed point": initial.bars,
    "PageRank beside power iteration": pagerank.bars,
    "growth": growth.bars,
    "what a trace costs": tracing.bars,
    "import and first answer": first_answer.bars,
}


def bars(*, quick: bool, console: Console) -> list[Bar]:
    """Measure part by part, saying which."""
    measured: list[Bar] = []
    for number, (name, measure) in enumerate(PARTS.items(), start=1):
        with console.status(f"Measuring {name} ({number} of {len(PARTS)}) ..."):
            measured += measure(quick=quick)
    return measured


def main() -> int:
    """Measure, print, record; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="small graphs, to see that it runs; misses are no failure"
    )
    quick = parser.parse_args().quick
    measured = bars(quick=quick, console=Console(stderr=True))
    print_bars("The engine", measured)
    missed = sum(bar.verdict == "FAIL" for bar in measured)
    print(f"{missed} of {sum(bar.limit is not None for bar in measured)} bars missed")
    print(f"recorded in records/{record_bars('engine', {'quick': quick}, measured).name}")
    return int(not quick and missed > 0)


if __name__ == "__main__":
    sys.exit(main())
