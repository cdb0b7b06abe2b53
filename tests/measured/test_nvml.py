"""The port's counters are read before and after, against a driver that is made up."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grapin.errors import DeviceUnavailable
from grapin.measured.measured import count_port

WIDE, NARROW = 3, 1


def driver(readings: list[tuple[int, int]], *, kind: int = WIDE, status: int = 0) -> Any:
    """Return a stand-in for pynvml whose counters of received and sent bytes stand like this, one reading a call."""
    left = iter(readings)

    def values(_handle: object, fields: list[int]) -> list[SimpleNamespace]:
        count = dict(zip((198, 197), next(left), strict=True))
        # NVML fills one of a union's members; the other holds what was there.
        return [
            SimpleNamespace(
                nvmlReturn=status,
                valueType=kind,
                value=SimpleNamespace(ullVal=count[one] if kind == WIDE else -1, uiVal=count[one] % 2**32),
            )
            for one in fields
        ]

    return SimpleNamespace(
        NVMLError=RuntimeError,
        NVML_SUCCESS=0,
        NVML_VALUE_TYPE_UNSIGNED_LONG_LONG=WIDE,
        NVML_FI_DEV_PCIE_COUNT_TX_BYTES=197,
        NVML_FI_DEV_PCIE_COUNT_RX_BYTES=198,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetHandleByIndex=lambda _index: object(),
        nvmlDeviceGetFieldValues=values,
    )


counts = st.tuples(st.integers(0, 2**48), st.integers(0, 2**48))
less_than_a_wrap = st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))


@given(counts, counts)
def test_what_passed_is_the_difference(before: tuple[int, int], passed: tuple[int, int]) -> None:
    after = (before[0] + passed[0], before[1] + passed[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pynvml", driver([before, after]))
        with count_port() as port:
            pass
    assert port.measured[0].totals == {"received": passed[0], "sent": passed[1]}


@given(counts, less_than_a_wrap)
def test_a_narrow_counter_that_begins_anew_is_read_right(
    before: tuple[int, int], passed: tuple[int, int]
) -> None:
    after = (before[0] + passed[0], before[1] + passed[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pynvml", driver([before, after], kind=NARROW))
        with count_port() as port:
            pass
    assert port.measured[0].totals == {"received": passed[0], "sent": passed[1]}


def test_a_gpu_that_does_not_count_says_what_to_use_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", driver([(0, 0)], status=3))
    with pytest.raises(DeviceUnavailable, match="Nsight Compute instead"), count_port():
        pass
