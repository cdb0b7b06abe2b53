"""How long loading takes beside its bare parts: decompression, and pyarrow's CSV reader on those bytes.

Medians over several rounds, taken in turns, of a real file where it is at hand.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

import pyarrow as pa
import pyarrow.csv
import zstandard

from experiments.lib.bars import DATA, Bar, figures, kept, sentence, span, told
from experiments.lib.experiment import Experiment
from grapin.files import load_edges
from grapin.files.write import write_edges
from grapin.generators import generate

FILE = "actor-costar.txt.zst"
GENERATED, QUICK = "rmat:20:16", "rmat:12:16"
ROUNDS = 5
LIMIT = 1.5
"""Loading should take at most this many times as long as its bare parts."""

LOAD, BARE = "loading", "decompression and pyarrow's CSV reader"
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


def seconds(work: Callable[[Path], int], path: Path) -> float:
    """Time one call."""
    begin = perf_counter()
    work(path)
    return perf_counter() - begin


def bars(*, quick: bool) -> Iterator[Bar]:
    """Time both in turns on a real file where it is at hand, else on a generated one, which is small in a quick run."""
    with TemporaryDirectory(prefix="grapin-") as folder:
        path = DATA / FILE
        if quick or not path.is_file():
            path = Path(folder) / "generated.txt.zst"
            write_edges(replace(generate(QUICK if quick else GENERATED), weight=None), str(path))
        if whole(path) != bare(path):
            raise AssertionError(f"load_edges and pyarrow find different rows in {path.name}")
        rounds = [(seconds(whole, path), seconds(bare, path)) for _ in range(ROUNDS)]
    ours, theirs = (median(times) for times in zip(*rounds, strict=True))
    yield Bar(f"load over {BARE}", ours / theirs, "x", LIMIT, path.name)
    yield Bar(f"{path.name}: {LOAD}", ours, "s")
    yield Bar(f"{path.name}: {BARE}", theirs, "s")


def _answer(bars: Sequence[Bar]) -> str:
    part = span(bar.figure for bar in bars if bar.limit is not None)
    times = [span(figures(bars, f": {what}"), "s") for what in (LOAD, BARE)]
    return sentence(
        told(f"loading takes {{}} of the time of {BARE}", part) + told(": {} beside {}", *times), kept(bars)
    )


EXPERIMENT = Experiment(
    name="loading",
    question="How long does loading a file take, beside decompression and pyarrow's CSV reader?",
    measure=bars,
    answer=_answer,
    configuration={"file": FILE, "rounds": ROUNDS},
)
