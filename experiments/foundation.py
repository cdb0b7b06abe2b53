"""The bars of the foundation: loading, building, mutating.

    python -m experiments.foundation [--quick]

Times are medians and are compared within one run, since machines differ and are shared; what runs in one
thread is measured in processor time.
"""

import argparse
import sys
from collections.abc import Callable
from statistics import median

from rich.console import Console

from experiments import loading
from experiments.bars import DATA, Bar, print_bars, record_bars
from experiments.building import build_bars
from experiments.mutating import growth_bar, largest_hubs_bars, one_hub_bar, size_bars
from grapin.edges import EdgeList
from grapin.generators import generate
from grapin.graph import Graph
from grapin.stream import workload

FULL = {
    "graph": "rmat:20:16",
    "small": "rmat:16:16",
    "sizes": (1000, 10_000, 100_000),
    "mutations": 1_000_000,
}
QUICK = {"graph": "rmat:14:16", "small": "rmat:12:16", "sizes": (100, 1000), "mutations": 10_000}


def measure(
    edges: EdgeList, small: str, sizes: tuple[int, ...], mutations: int, console: Console
) -> list[Bar]:
    """Measure everything, saying what is going on."""
    steps: dict[str, Callable[[], list[Bar]]] = {
        "loading": loading_bars,
        "building": lambda: build_bars(edges),
        "applying batches, and NetworKit": lambda: size_bars(edges, sizes),
        "a small and a large graph": lambda: [growth_bar(edges, small, sizes[1])],
        "one hub": lambda: [one_hub_bar(edges, mutations, sizes[1])],
        "the hubs of a web graph": lambda: largest_hubs_bars(sizes[1] // 2),
    }
    bars: list[Bar] = []
    for name, step in steps.items():
        with console.status(f"Measuring {name} ..."):
            bars += step()
    return bars


def loading_bars() -> list[Bar]:
    """Compare loading a large compressed file with its bare parts, where the file is there."""
    path = DATA / loading.FILE
    if not path.is_file():
        return []
    rounds = [
        (loading.seconds(loading.whole, path)[0], loading.seconds(loading.bare, path)[0]) for _ in range(3)
    ]
    ours, bare = (median(times) for times in zip(*rounds, strict=True))
    remark = f"{ours:.2f} s beside {bare:.2f} s, {loading.FILE}"
    return [Bar("load over decompression and pyarrow's CSV reader", ours / bare, "x", loading.BAR, remark)]


def compile_all() -> None:
    """Run everything once on a small graph, so that no measurement contains compilation."""
    stream = workload(generate("rmat:8"), size=100)
    graph: Graph = stream.graph()
    for batch in stream:
        graph.apply(batch)


def main() -> int:
    """Measure, print, record; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="small graphs, to see that it runs; misses are no failure"
    )
    quick = parser.parse_args().quick
    configuration = dict(QUICK if quick else FULL)
    console = Console(stderr=True)
    with console.status("Compiling and generating ..."):
        compile_all()
        edges = generate(str(configuration["graph"]))
    chosen = {name: configuration[name] for name in ("small", "sizes", "mutations")}
    bars = measure(edges, console=console, **chosen)  # type: ignore[arg-type]  # the three of a configuration
    print_bars(f"The foundation on {edges.origin}: {len(edges):,} edges", bars)
    print("The deep state machine has its own command: make test-deep")
    print(f"recorded in records/{record_bars('foundation', configuration, bars).name}")
    return int(not quick and any(bar.verdict == "FAIL" for bar in bars))


if __name__ == "__main__":
    sys.exit(main())
