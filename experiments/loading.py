"""How long loading takes beside its bare parts: decompression, and pyarrow's CSV reader on those bytes.

    python -m experiments.loading [--data FOLDER] [--rounds N]

Prints the median time of both over several rounds, taken in turns, and their ratio.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import zstandard

from grapin.files import load_edges
from grapin.units import format_count, format_seconds

FILE = "actor-costar.txt.zst"
BAR = 1.5
"""Loading should take at most this many times as long as its bare parts."""

_COMMENTS = 3
_LONGEST_WINDOW = 2**31


def bare(path: Path) -> int:
    """Decompress the file into memory and parse it with defaults: what nobody can avoid."""
    with path.open("rb") as file:
        data = zstandard.ZstdDecompressor(max_window_size=_LONGEST_WINDOW).stream_reader(file).read()
    table = pa.csv.read_csv(
        pa.BufferReader(data),
        pa.csv.ReadOptions(column_names=["source", "target"], skip_rows=_COMMENTS),
        pa.csv.ParseOptions(delimiter="\t"),
    )
    return int(table.num_rows)


def whole(path: Path) -> int:
    """Load the file: decompression, parsing, ids, self loops, repeated edges."""
    return len(load_edges(path))


def seconds(work: Callable[[Path], int], path: Path) -> tuple[float, int]:
    """Time one call."""
    begin = time.perf_counter()
    rows = work(path)
    return time.perf_counter() - begin, rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=default, help=f"the folder that holds {FILE}")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    path = arguments.data / FILE
    if not path.is_file():
        parser.exit(2, f"{path} is not there: give the folder that holds it with --data\n")
    bare_times, whole_times = [], []
    for _ in range(arguments.rounds):
        bare_time, expected = seconds(bare, path)
        whole_time, rows = seconds(whole, path)
        if rows != expected:
            parser.exit(1, f"load_edges found {rows} rows, pyarrow {expected}\n")
        bare_times.append(bare_time)
        whole_times.append(whole_time)
    ratio = statistics.median(whole_times) / statistics.median(bare_times)
    print(f"{FILE}: {format_count(rows)} rows, median of {arguments.rounds} rounds")
    print(f"  decompress, then pyarrow.csv   {format_seconds(statistics.median(bare_times))}")
    print(f"  grapin.load_edges              {format_seconds(statistics.median(whole_times))}")
    print(f"  ratio {ratio:.2f} (bar: at most {BAR})")


if __name__ == "__main__":
    main()
