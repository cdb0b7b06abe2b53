"""What the doctor tells of a GPU, from libraries that pretend to have one."""

import sys
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

MODULE = "grapin.kernels.cuda.gpu"


class PretendedEvent:
    def record(self, stream: Any) -> None: ...

    def synchronize(self) -> None: ...


class PretendedArray:
    def __init__(self, count: int, dtype: Any) -> None:
        self.size = count

    def set(self, source: Any, stream: Any) -> None:
        assert source.nbytes == self.size


def pretended_cupy() -> Any:
    properties = {"name": b"NVIDIA RTX A5000", "major": 8, "minor": 6, "multiProcessorCount": 64}
    cuda = SimpleNamespace(
        runtime=SimpleNamespace(
            getDeviceProperties=lambda _index: properties,
            driverGetVersion=lambda: 13010,
            runtimeGetVersion=lambda: 12040,
        ),
        Device=lambda: SimpleNamespace(id=0, mem_info=(12 << 30, 24 << 30), pci_bus_id="0000:01:00.0"),
        alloc_pinned_memory=bytearray,
        Stream=lambda non_blocking: None,
        Event=PretendedEvent,
        get_elapsed_time=lambda _begin, _end: 10.0,
    )
    return SimpleNamespace(cuda=cuda, empty=PretendedArray, uint8=np.uint8)


def pretended_nvml(**links: int) -> Any:
    return SimpleNamespace(
        NVMLError=RuntimeError,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByPciBusId=lambda address: address,
        nvmlSystemGetDriverVersion=lambda: "580.95.05",
        **{f"nvmlDeviceGet{name}": lambda _handle, value=value: value for name, value in links.items()},
    )


@pytest.fixture
def describe(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(sys.modules, "cupy", pretended_cupy())
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    yield import_module(MODULE).describe
    sys.modules.pop(MODULE, None)


def test_a_gpu_is_described_with_its_driver_link_and_bandwidth(
    describe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = {
        "CurrPcieLinkGeneration": 1,
        "MaxPcieLinkGeneration": 4,
        "CurrPcieLinkWidth": 16,
        "MaxPcieLinkWidth": 16,
    }
    monkeypatch.setitem(sys.modules, "pynvml", pretended_nvml(**links))
    assert describe() == {
        "GPU": "NVIDIA RTX A5000",
        "compute capability": "8.6",
        "multiprocessors": "64",
        "memory": "24 GiB, 12 GiB free",
        "CUDA of the driver": "13.1",
        "CUDA of CuPy": "12.4",
        "driver": "580.95.05",
        "link": "PCIe 1 of 4, 16 lanes",
        "pinned memory to GPU": "26.84 GB/s",
    }


def test_without_nvml_the_link_is_unknown_and_it_says_what_to_install(
    describe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert describe()["link"] == "unknown: pip install nvidia-ml-py"


def test_what_nvml_refuses_is_said(describe: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = pretended_nvml()

    def refuse() -> None:
        raise RuntimeError("Driver Not Loaded")

    nvml.nvmlInit = refuse
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    assert describe()["link"] == "unknown: NVML says Driver Not Loaded"
