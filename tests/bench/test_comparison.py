"""Records come back from their file as they were, and two files are compared only where they measured the same."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grapin.bench.compare import LEVEL, Records, compare
from grapin.bench.measure import Measurement
from grapin.bench.records import Summary, read_records, record, write_records
from grapin.bench.suite import Case, Suite
from grapin.errors import InvalidArgument, InvalidFile

SUITE = Suite("some", ("path:9",), ("bfs",), devices=("cpu",))
CASES = [Case("path:9", size, "bfs", "bounded", "cpu") for size in range(1, 7)]
PEER = Case("path:9", 1, "bfs", None, "scipy")
WHERE: dict[str, Any] = {"grapin": "1", "commit": None, "machine": {"cores": 2}}
SECONDS = st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=9)


def made(case: Case, seconds: list[float], suite: Suite = SUITE, **where: Any) -> dict[str, Any]:
    batch = [] if case.system is None else seconds
    return record(suite, Measurement(case, 9, 8, seconds, batch), WHERE | where, None)


def records(factor: float = 1.0, count: int = 10) -> Records:
    return {case: made(case, [factor * (1 + 0.01 * number) for number in range(count)]) for case in CASES}


@given(st.lists(SECONDS, min_size=1, max_size=4))
def test_records_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, samples: list[list[float]]
) -> None:
    file = tmp_path_factory.mktemp("records") / "some.jsonl"
    written = {case: made(case, seconds) for case, seconds in zip((PEER, *CASES), samples, strict=False)}
    write_records(written.values(), file)
    assert list(read_records(str(file)).values()) == json.loads(json.dumps(list(written.values())))


@given(SECONDS)
def test_median_and_quartiles_are_in_order_and_within_the_sample(seconds: list[float]) -> None:
    found = Summary.of(seconds)
    assert min(seconds) <= found.lower <= found.median <= found.upper <= max(seconds)
    assert found.relative_iqr >= 0


def test_one_slow_repetition_moves_neither_median_nor_spread() -> None:
    calm, disturbed = Summary.of([1.0, 1.1, 1.2, 1.3, 1.4]), Summary.of([1.0, 1.1, 1.2, 1.3, 99.0])
    assert calm == disturbed


def test_equal_records_show_no_difference_and_doubled_ones_do() -> None:
    assert {row.verdict for row in compare(records(), records()).rows} == {"no difference found"}
    assert {row.verdict for row in compare(records(), records(2)).rows} == {"slower"}
    assert {row.verdict for row in compare(records(2), records()).rows} == {"faster"}
    assert len(compare(records(), records()).rows) == 2 * len(CASES)


def test_three_repetitions_are_said_to_be_too_few_however_different_they_are() -> None:
    assert {row.verdict for row in compare(records(count=3), records(9, count=3)).rows} == {
        "too few repetitions"
    }


def test_a_peer_is_compared_by_its_one_figure() -> None:
    found = {PEER: made(PEER, [1.0, 1.1])}
    assert [(row.case, row.figure) for row in compare(found, found).rows] == [(PEER, "start")]


def test_cases_of_one_record_only_are_listed_and_other_machines_named() -> None:
    now = {case: one | {"machine": {"cores": 4}} for case, one in records().items() if case != CASES[0]}
    now[PEER] = made(PEER, [1.0])
    found = compare(records(), now)
    assert (found.only_before, found.only_now, found.machines_differ) == ([CASES[0]], [PEER], True)
    assert not compare(records(), records()).machines_differ


def test_other_work_is_not_compared() -> None:
    otherwise = {CASES[0]: made(CASES[0], [1.0], replace(SUITE, seed=1))}
    with pytest.raises(InvalidArgument, match="seed must be the same in both records, not 0 and 1"):
        compare(records(), otherwise)
    with pytest.raises(InvalidArgument, match="must have a case in common"):
        compare(records(), {PEER: made(PEER, [1.0])})


@pytest.mark.parametrize(
    "line",
    [
        *("", "{", "[]", "{}", '{"case": {"graph": "a"}}', "[" * 100_000),
        *(
            json.dumps(made(PEER, [1.0])).replace("1.0", absurd)
            for absurd in ("-1.0", "1e-300", "1e300", "NaN", "0.0")
        ),
        json.dumps(made(PEER, [1.0])).replace("[1.0]", json.dumps([1.0] * 100_000)),
        json.dumps(made(PEER, [1.0])).replace("[1.0]", "1.0"),
        json.dumps(made(PEER, [1.0]) | {"configuration": 7}),
        json.dumps(made(PEER, [1.0]) | {"machine": None}),
    ],
    ids=range(15),
)
def test_what_is_not_a_record_is_refused_with_its_line(line: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(json.dumps(made(CASES[0], [1.0])) + "\n" + line + "\n")
    with pytest.raises(InvalidFile, match="line 2: is not a record of grapin bench"):
        read_records(str(file))
    file.write_text("")
    with pytest.raises(InvalidFile, match="has no records"):
        read_records(str(file))


def test_the_level_holds_for_a_whole_comparison() -> None:
    rows = compare(records(), records(1.04)).rows
    assert all(row.probability >= row.difference.probability for row in rows)
    assert all((row.verdict == "slower") == (row.probability <= LEVEL) for row in rows)
