"""Our systems beside released programs: the same lists, requests and rounds, and bad tables refused in one sentence."""

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grapin import SSSP, Batch, Engine
from grapin.cli.executed import open_graph, summed_weights
from grapin.cli.main import main
from grapin.counters import REQUEST_SIZES
from grapin.engine.verify import verify_answer
from grapin.errors import InvalidArgument
from grapin.measured.executed import UNROLLED, count_threads, read_stream, read_table
from grapin.system import Layout

pytest.importorskip("numba.cuda", reason="this Numba has no CUDA names")

TABLES = Path(__file__).parents[2] / "experiments" / "executed"
DEGREES = st.lists(st.integers(0, 40), max_size=70)


def compared(
    capsys: pytest.CaptureFixture[str], table: Path, only: str, code: int = 0
) -> list[dict[str, Any]]:
    """Compare rows of a table with ours; return what was printed for each run."""
    assert main(["compare", "--executed", str(table), "--only", only, "--json", "-"]) == code
    runs: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["runs"]
    return runs


@pytest.mark.parametrize("program", ["EMOGI sssp", "EMOGI cc"])
def test_one_list_after_the_other_reads_what_the_released_program_reads_to_the_last_request(
    program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = compared(
        capsys, TABLES / "emogi_totals.csv", f"{program} coalesce (-t 1) UVM_DIRECT (-m 2) seq rmat12"
    )
    assert len(runs) == 1
    assert all(count["ours"] == count["theirs"] > 0 for count in runs[0]["counts"].values())


def test_bfs_reads_the_same_launch_by_launch_however_threads_walk_lists(
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs = compared(capsys, TABLES / "emogi_iterations.csv.gz", "bfs DIRECT rr rmat12")
    assert len(runs) == 6  # three ways to walk lists, with edges of 4 and of 8 bytes
    for run in runs:
        assert all(count["error"] == 0 and count["within"] for count in run["counts"].values())


def test_on_the_streams_that_the_released_grapin_was_executed_on_lists_requests_and_answers_are_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, *rows = gzip.decompress((TABLES / "grapin_batches.csv.gz").read_bytes()).decode().splitlines()
    rows = [
        row
        for row in rows
        if row.startswith("Grapin sssp,deletion mended") and ",rmat12,4096,53291,2483,1000," in row
    ]
    table = tmp_path / "batches.csv"
    table.write_text("\n".join([head, *rows]))
    (tmp_path / "grapin_streams.tar.zst").symlink_to(TABLES / "grapin_streams.tar.zst")
    [run] = compared(capsys, table, "")
    assert all(count["within"] for count in run["counts"].values())
    starts = {name: count for name, count in run["counts"].items() if name.startswith("start.")}
    assert len(starts) == 6
    assert all(
        count["error"] == 0 for count in starts.values()
    )  # a run from scratch in their order and layout
    found = next(one for one in read_table(table) if dict(one.columns) == run["run"])
    graph, source = open_graph(found.graph, ".", weight=summed_weights)
    engine = Engine(graph, SSSP(source), device="onelane", system="grapin-released", trace=True)
    for insert, delete in read_stream(table, found):
        assert len(insert) == len(delete) == 500
        weights = summed_weights(*insert.T)
        engine.apply(Batch(insert=np.column_stack((insert, weights)), delete=delete))
        verify_answer(engine.answers[0], graph)


def doctored(folder: Path, change: Any) -> Path:
    """Return a table of one run of bfs, with its text changed."""
    lines = (TABLES / "emogi_totals.csv").read_text().splitlines()
    row = next(line for line in lines if line.startswith("EMOGI bfs,coalesce (-t 1)"))
    table = folder / "table.csv.gz"
    table.write_bytes(gzip.compress(change(f"{lines[0]}\n{row}\n").encode()))
    return table


def test_a_count_outside_its_tolerance_is_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [run] = compared(capsys, doctored(tmp_path, lambda text: text.replace("52715", "52716")), "bfs", code=1)
    assert not run["counts"]["edges_read"]["within"]
    assert run["counts"]["requests_32"]["within"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("edges_read", "edges_rad"), "edges_read"),
        (lambda text: text.replace("requests_96,", "requests_96,reqests_96,"), "'reqests_96' (did you mean"),
        (lambda text: text.replace("52715", "many"), "whole numbers"),
        (lambda text: text.replace("rmat12", "no-such-graph"), "no-such-graph"),
        (lambda text: text, "--only nothing must be words"),
    ],
)
def test_a_bad_table_is_one_sentence(
    change: Any, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    only = ["--only", "nothing"] if "nothing" in said else []
    assert main(["compare", "--executed", str(doctored(tmp_path, change)), *only]) == 2
    assert said in capsys.readouterr().err


def test_a_stream_that_is_not_beside_its_table_is_missed_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "grapin_batches.csv.gz"
    table.write_bytes((TABLES / table.name).read_bytes())
    assert main(["compare", "--executed", str(table), "--only", "sssp mended rr rmat12 1000"]) == 2
    assert "grapin_streams.tar.zst: must hold the stream rmat12.1000.upd" in capsys.readouterr().err


@given(DEGREES)
def test_spaced_lists_never_meet_and_leave_three_of_four_slots_free(lengths: list[int]) -> None:
    degrees = np.array(lengths, np.int64)
    starts = Layout(lists="spaced").starts(degrees)
    edges = int(degrees.sum())
    assert (starts[1:] >= starts[:-1] + degrees[:-1]).all()
    before = 0
    for vertex, start in enumerate(starts.tolist()):
        assert start == before + (before + vertex) * 3 * edges // (edges + len(lengths))
        before += lengths[vertex]
    assert not len(starts) or starts[-1] + degrees[-1] <= 4 * max(edges, 1)


@pytest.mark.parametrize("bad", [{"lists": "scattered"}, {"edge": 5}, {"base": 3}])
def test_a_layout_that_no_array_has_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match="layout"):
        Layout(**bad)


@given(DEGREES, st.sampled_from([4, 8]))
def test_threads_ask_for_every_run_of_sectors_that_a_step_of_their_warp_reads(
    lengths: list[int], edge: int
) -> None:
    degrees = np.array(lengths, np.int64)
    layout = Layout(lists="packed", edge=edge, base=16)
    starts = layout.starts(degrees)
    asked: dict[tuple[int, int], set[int]] = defaultdict(set)
    for thread, (start, length) in enumerate(zip(starts.tolist(), lengths, strict=True)):
        for place in range(length):
            over = length % UNROLLED
            step = place - 1000 if place < over else place - over
            asked[thread // 32, step].add((16 + (start + place) * edge) // 32)
    expected: Counter[int] = Counter()
    for sectors in asked.values():
        for first in (one for one in sectors if one - 1 not in sectors or one % 4 == 0):
            last = first
            while last + 1 in sectors and (last + 1) % 4:
                last += 1
            expected[32 * (last - first + 1)] += 1
    counted = count_threads(np.arange(len(lengths)), starts, degrees, layout)
    assert counted.requests == {size: expected[size] for size in REQUEST_SIZES}
