"""What Nsight Compute prints comes through exactly, in both of its layouts; what would be rounded is refused."""

import csv
import io
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grapin.errors import InvalidFile
from grapin.measured import read_measured

METRICS = {
    "pcie__read_bytes.sum": ("byte", "received", 1),
    "pcie__write_bytes.sum": ("byte", "sent", 1),
    "lts__t_sectors_aperture_sysmem_op_read.sum": ("sector", "sectors read", 1),
    "gpu__time_duration.sum": ("ns", "time in kernels", 1e-9),
}
KERNEL = ("ID", "Process ID", "Kernel Name", "Grid Size")
PREAMBLE = '==PROF== Connected to process 7\n"my program" prints\n==PROF== Disconnected\n'

kernels = st.lists(
    st.fixed_dictionaries(dict.fromkeys(METRICS, st.integers(0, 2**50))), min_size=1, max_size=4
)


def text_of(rows: list[list[str]]) -> str:
    file = io.StringIO()
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
    return PREAMBLE + file.getvalue()


def by_metric(kernels: list[dict[str, int]]) -> str:
    rows = [[*KERNEL, "Section Name", "Metric Name", "Metric Unit", "Metric Value"]]
    for number, values in enumerate(kernels):
        head = [str(number), "7", "repair(int, float)", "(1, 1, 1)"]
        rows += [
            [*head, "Command line", name, METRICS[name][0], f"{value:,}"] for name, value in values.items()
        ]
        rows.append([*head, "Speed", "sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "3.14"])
    return text_of(rows)


def by_kernel(kernels: list[dict[str, int]]) -> str:
    rows = [
        [*KERNEL, *METRICS, "dram__bytes.sum"],
        ["", "", "", "", *(unit for unit, *_ in METRICS.values()), "Gbyte"],
    ]
    for number, values in enumerate(kernels):
        rows.append(
            [
                str(number),
                "7",
                "repair(int, float)",
                "(1, 1, 1)",
                *(str(values[name]) for name in METRICS),
                "1.5",
            ]
        )
    return text_of(rows)


@pytest.mark.parametrize("layout", [by_metric, by_kernel])
@given(kernels=kernels)
def test_metrics_of_the_link_are_summed_over_kernels_exactly(
    layout: type, kernels: list[dict[str, int]]
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "report.csv"
        path.write_text(layout(kernels))
        totals = read_measured(path).totals
    assert totals == {
        kind: sum(values[name] for values in kernels) * scale for name, (_, kind, scale) in METRICS.items()
    }


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (("pcie__read_bytes.sum", "Mbyte", "1.5"), "is in 'Mbyte', not in 'byte': .*--print-units base"),
        (("pcie__read_bytes.sum", "byte", "1.234"), "which is not whole"),
        (("pcie__read_bytes.sum", "byte", "n/a"), "which is no number"),
        (("dram__bytes.sum", "byte", "5"), "has none of pcie__read_bytes.sum"),
    ],
)
def test_what_is_rounded_or_says_nothing_of_the_link_is_refused_with_the_remedy(
    row: tuple[str, str, str], sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "report.csv"
    path.write_text(text_of([["ID", "Metric Name", "Metric Unit", "Metric Value"], ["0", *row]]))
    with pytest.raises(InvalidFile, match=sentence):
        read_measured(path)


@pytest.mark.parametrize("content", [b"source,target\n1,2\n", b"\xff\xfe\x00", b""])
def test_another_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidFile, match=r"other\.csv"):
        read_measured(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match="there is no such file"):
        read_measured(tmp_path / "none.csv")


@pytest.mark.parametrize(
    "absurd",
    ["-5", "1e400", "1e999999999", "NaN", "sNaN", "Infinity", "-Infinity", str(2**64), "0x10"],
)
@pytest.mark.parametrize("name", METRICS)
def test_what_nothing_can_have_counted_is_refused_with_its_name(
    absurd: str, name: str, tmp_path: Path
) -> None:
    file = tmp_path / "measured.csv"
    text = by_metric([dict.fromkeys(METRICS, 12_345)])
    row = f'"{name}","{METRICS[name][0]}","12,345"'
    assert row in text
    file.write_text(text.replace(row, row.replace("12,345", absurd)), encoding="utf-8")
    with pytest.raises(InvalidFile, match=name) as found:
        read_measured(file)
    assert str(file) in str(found.value)
