"""The machine at hand, against a driver and a kernel that are made up."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grapin.errors import DeviceUnavailable, InvalidArgument, MissingDependency
from grapin.sim import Machine, find_machine
from grapin.sim.machine import PcieLink
from grapin.sim.probe import Registers, driver_parameters, read_computer, read_registers


class NVMLError(Exception):
    pass


def driver(**changes: Any) -> SimpleNamespace:
    """Return a stand-in for pynvml with one RTX A5000."""
    answers = {
        "nvmlInit": None,
        "nvmlShutdown": None,
        "nvmlDeviceGetCount": 1,
        "nvmlDeviceGetHandleByIndex": object(),
        "nvmlDeviceGetName": "NVIDIA RTX A5000",
        "nvmlDeviceGetCudaComputeCapability": (8, 6),
        "nvmlDeviceGetMaxClockInfo": 8001,
        "nvmlDeviceGetMemoryBusWidth": 384,
        "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=25_757_220_864),
        "nvmlDeviceGetNumGpuCores": 8192,
        "nvmlDeviceGetPciInfo": SimpleNamespace(busId="00000000:CA:00.0"),
    }
    module = SimpleNamespace(NVMLError=NVMLError, NVML_CLOCK_MEM=2)
    for name, answer in (answers | changes).items():
        setattr(module, name, lambda *_, answer=answer: answer)
    return module


def registers(payload: int = 256, request: int = 512, boundary: int = 64, tag_bits: int = 10) -> bytes:
    """Return a configuration space whose PCI Express capability, behind another one, says this."""
    space = bytearray(4096)
    space[0x34], space[0x40], space[0x41], space[0x68] = 0x40, 0x05, 0x68, 0x10
    control = (payload.bit_length() - 8) << 5 | (request.bit_length() - 8) << 12 | (tag_bits >= 8) << 8
    space[0x70:0x72] = control.to_bytes(2, "little")
    space[0x78] = 8 if boundary == 128 else 0
    space[0x90:0x92] = ((tag_bits == 10) << 12).to_bytes(2, "little")
    return bytes(space)


def computer(root: Path, *, speed: str = "16.0 GT/s PCIe", upstream: str = "16.0 GT/s PCIe") -> Path:
    """Write the files of a kernel that knows this GPU behind a port."""
    port = root / "sys/devices/pci0000:c0/0000:c0:01.1"
    gpu = port / "0000:ca:00.0"
    gpu.mkdir(parents=True)
    (port / "max_link_speed").write_text(upstream + "\n")
    (gpu / "max_link_speed").write_text(speed + "\n")
    (gpu / "current_link_width").write_text("8\n")
    (gpu / "config").write_bytes(registers())
    devices = root / "sys/bus/pci/devices"
    devices.mkdir(parents=True)
    (devices / gpu.name).symlink_to(gpu)
    parameters = root / "sys/module/nvidia_uvm/parameters"
    parameters.mkdir(parents=True)
    (parameters / "uvm_perf_prefetch_threshold").write_text("51\n")
    (parameters / "uvm_perf_access_counter_migration_enable").write_text("-1\n")
    (parameters / "uvm_peer_copy").write_text("phys\n")
    (root / "proc").mkdir()
    (root / "proc/cpuinfo").write_text("processor\t: 0\nmodel name\t: AMD EPYC 7543\n")
    return root


@pytest.fixture
def with_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", driver())


@pytest.mark.usefixtures("with_driver")
def test_gpu_link_and_host_are_what_driver_and_kernel_tell(tmp_path: Path) -> None:
    machine = read_computer(root=computer(tmp_path))
    known = find_machine("a5000")
    assert machine.gpu.name == "NVIDIA RTX A5000"
    assert machine.gpu.memory == 25_757_220_864
    assert machine.gpu.bandwidth == pytest.approx(known.gpu.bandwidth, rel=1e-3)
    assert machine.gpu.multiprocessors == known.gpu.multiprocessors
    assert machine.gpu.warps == known.gpu.warps
    assert isinstance(machine.link, PcieLink)
    assert (machine.link.generation, machine.link.lanes) == (4, 8)
    assert (machine.link.payload, machine.link.read_request, machine.link.tag_bits) == (256, 512, 10)
    assert machine.host.name == "AMD EPYC 7543"
    unknown = {one.name for one in machine.figures() if not one.sourced}
    assert unknown == {
        *("link.round_trip", "link.efficiency", "gpu.launch"),
        *("host.bandwidth", "host.access", "host.latency", "host.fault_batch"),
    }


@pytest.mark.usefixtures("with_driver")
def test_a_link_is_as_fast_as_its_slower_end(tmp_path: Path) -> None:
    machine = read_computer(root=computer(tmp_path, upstream="8.0 GT/s PCIe"))
    assert isinstance(machine.link, PcieLink)
    assert machine.link.generation == 3


@pytest.mark.usefixtures("with_driver")
def test_registers_that_only_root_may_read_are_not_made_up_silently(tmp_path: Path) -> None:
    root = computer(tmp_path)
    (root / "sys/bus/pci/devices/0000:ca:00.0/config").write_bytes(registers()[:64])
    machine = read_computer(root=root)
    assert not any(one.sourced for one in machine.figures() if one.name in ("link.payload", "link.tag_bits"))
    assert "only root" in machine.link.sources["payload"]


def test_a_gpu_on_a_module_has_the_modules_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = driver(nvmlDeviceGetName="NVIDIA GH200 480GB", nvmlDeviceGetCudaComputeCapability=(9, 0))
    monkeypatch.setitem(sys.modules, "pynvml", module)
    assert read_computer(root=computer(tmp_path)).link == find_machine("gh200").link


def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(MissingDependency, match="pip install nvidia-ml-py"):
        Machine.from_this_computer()


def test_without_a_driver_the_error_names_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    module = driver()

    def refuse() -> None:
        raise NVMLError("Driver Not Loaded")

    module.nvmlInit = refuse
    monkeypatch.setitem(sys.modules, "pynvml", module)
    with pytest.raises(DeviceUnavailable, match=r"Driver Not Loaded.*use a preset such as a5000"):
        Machine.from_this_computer()


@pytest.mark.parametrize(
    ("changes", "speed", "message"),
    [
        ({"nvmlDeviceGetCount": 0}, "16.0 GT/s PCIe", "knows no GPU here"),
        ({"nvmlDeviceGetCudaComputeCapability": (5, 2)}, "16.0 GT/s PCIe", "compute capability 5.2"),
        ({}, "5.0 GT/s PCIe", "a link of 5 GT/s is none of PCIe 3.0 to 6.0"),
        (
            {"nvmlDeviceGetPciInfo": SimpleNamespace(busId="00000000:01:00.0")},
            "16.0 GT/s",
            "does not tell the speed",
        ),
    ],
)
def test_what_cannot_be_described_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], speed: str, message: str
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", driver(**changes))
    with pytest.raises(DeviceUnavailable, match=message):
        read_computer(root=computer(tmp_path, speed=speed))


@pytest.mark.usefixtures("with_driver")
def test_there_is_no_second_gpu(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="index=1 must be at most 0"):
        read_computer(1, computer(tmp_path))


@given(
    st.sampled_from((128, 256, 512)),
    st.sampled_from((128, 512, 4096)),
    st.sampled_from((64, 128)),
    st.sampled_from((5, 8, 10)),
)
def test_registers_are_read_as_they_were_written(
    payload: int, request: int, boundary: int, tag_bits: int
) -> None:
    space = registers(payload, request, boundary, tag_bits)
    assert read_registers(space) == Registers(payload, request, boundary, tag_bits)


def test_a_device_without_the_capability_tells_nothing() -> None:
    assert read_registers(bytes(4096)) is None


def test_the_drivers_live_settings_are_its_whole_numbers(tmp_path: Path) -> None:
    assert driver_parameters(computer(tmp_path)) == {
        "perf_prefetch_threshold": 51,
        "perf_access_counter_migration_enable": -1,
    }
    assert driver_parameters(tmp_path / "nowhere") == {}
