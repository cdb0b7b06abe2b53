"""What an Nsight Systems export holds comes through exactly, whichever of its tables exist."""

import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grapin.errors import InvalidFile
from grapin.measured import read_measured

NUMBERS = st.integers(0, 2**40)
COPIES = st.lists(st.tuples(NUMBERS, st.sampled_from([1, 2, 8, 11, 12, 13])), max_size=8)


def export(path: Path, faults: list[int], copies: list[tuple[int, int]], kernels: list[int]) -> Path:
    """Write an export; as nsys does, only tables that have rows."""
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)")
        if faults:
            made.execute(
                "CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (start INT, end INT, globalPid INT, deviceId INT, "
                "address INT, numberOfPageFaults INT, faultAccessType INT)"
            )
            rows = [(0, 1, 7, 0, 4096 * place, count, 0) for place, count in enumerate(faults)]
            made.executemany("INSERT INTO CUDA_UM_GPU_PAGE_FAULT_EVENTS VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        if copies:
            made.execute(
                "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, bytes INT, copyKind INT)"
            )
            made.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (0, 1, ?, ?)", copies)
        if kernels:
            made.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT)")
            made.executemany(
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0)",
                [(1000 * place, 1000 * place + took) for place, took in enumerate(kernels)],
            )
        made.commit()
    return path


@given(st.lists(NUMBERS, max_size=5), COPIES, st.lists(NUMBERS, max_size=5))
def test_faults_migrations_and_kernel_times_come_through_exactly_and_what_is_absent_stays_absent(
    faults: list[int], copies: list[tuple[int, int]], kernels: list[int]
) -> None:
    expected: dict[str, float] = {}
    if faults:
        expected["faults"] = sum(faults)
    for kind, code in (("migrated", 11), ("evicted", 12)):
        moved = [size for size, of in copies if of == code]
        if moved:
            expected[kind] = sum(moved)
    if kernels:
        expected["time in kernels"] = sum(kernels) * 1e-9
    with TemporaryDirectory() as folder:
        path = export(Path(folder) / "report.sqlite", faults, copies, kernels)
        if expected:
            assert read_measured(path).totals == expected
        else:
            with pytest.raises(InvalidFile, match="nsys profile --trace=cuda"):
                read_measured(path)


def test_reading_changes_nothing(tmp_path: Path) -> None:
    path = export(tmp_path / "report.sqlite", [3], [], [])
    before = path.read_bytes()
    read_measured(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_broken_export_is_refused_with_its_name(tmp_path: Path) -> None:
    path = export(tmp_path / "report.sqlite", [3], [(5, 11)], [])
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(InvalidFile, match=r"report\.sqlite: is not what nsys export"):
        read_measured(path)


def test_a_table_of_another_release_is_refused_with_the_column_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "report.sqlite"
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, size INT)")
        made.commit()
    with pytest.raises(InvalidFile, match="no such column: bytes"):
        read_measured(path)


@pytest.mark.parametrize("absurd", ["many", -5, 1.5, 1e308, b"\x00", 2**63 - 1])
def test_what_nothing_can_have_counted_is_refused(absurd: object, tmp_path: Path) -> None:
    path = export(tmp_path / "report.sqlite", [3], [], [])
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (bytes, copyKind)")
        made.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, 11)", [(absurd,), (2,)])
        made.commit()
    with pytest.raises(InvalidFile, match=r"report\.sqlite: (migrated|is not what nsys)"):
        read_measured(path)
