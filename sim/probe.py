"""The machine at hand: what the GPU's driver and the kernel tell of GPU, link and host.

NVML (`nvidia-ml-py`) knows the GPU; the PCI tree under `/sys` knows the link, down to the registers that hold payload,
tags and request size. Whatever they do not tell is taken from the presets and marked as having no source.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from grapin.errors import DeviceUnavailable, MissingDependency
from grapin.figures import NO_SOURCE
from grapin.sim.machine import MACHINES, TRANSFERS, Gpu, Host, Link, Machine, PcieLink
from grapin.validation import check_integer

_UNMEASURED = f"{NO_SOURCE}: not measured here; set it when it is"
_REGISTERS = "configuration registers of the GPU"
_MULTIPROCESSORS = {
    (6, 0): (64, 64),
    (6, 1): (128, 64),
    (7, 0): (64, 64),
    (7, 5): (64, 32),
    (8, 0): (64, 64),
    (8, 6): (128, 48),
    (8, 9): (128, 48),
    (9, 0): (128, 64),
    (10, 0): (128, 64),
    (12, 0): (128, 48),
}
"""Cores and warps of a multiprocessor by compute capability (CUDA C++ Programming Guide)."""
_EXPRESS = 0x10  # the capability's identity in PCI configuration space


class Registers(NamedTuple):
    """What the PCI Express capability of a device says of how it talks."""

    payload: int
    read_request: int
    completion_boundary: int
    tag_bits: int


def read_computer(index: int = 0, root: Path = Path("/")) -> Machine:
    """Ask driver and kernel for GPU number `index`; `root` is where `sys` and `proc` are found."""
    with open_nvml() as nvml:
        count = nvml.nvmlDeviceGetCount()
        if not count:
            raise DeviceUnavailable("the NVIDIA driver knows no GPU here: use a preset such as a5000 instead")
        handle = nvml.nvmlDeviceGetHandleByIndex(check_integer("index", index, least=0, most=count - 1))
        gpu = _gpu(nvml, handle)
        address = str(nvml.nvmlDeviceGetPciInfo(handle).busId).lower()[-12:]
    device = root / "sys/bus/pci/devices" / address
    on_module = any(module in gpu.name for module in ("GH200", "GB200", "GB300"))
    return Machine("this-computer", MACHINES["gh200"].link if on_module else _link(device), gpu, _host(root))


def driver_parameters(root: Path = Path("/")) -> dict[str, int]:
    """Return the unified-memory driver's live settings, without their prefix `uvm_`; none where it is not loaded."""
    files = (root / "sys/module/nvidia_uvm/parameters").glob("uvm_*")
    texts = {file.name.removeprefix("uvm_"): file.read_text().strip() for file in files}
    return {name: int(text) for name, text in texts.items() if re.fullmatch(r"-?\d+", text)}


@contextmanager
def open_nvml() -> Iterator[Any]:
    """Talk to the GPU's driver for a while."""
    try:
        import pynvml
    except ImportError:
        raise MissingDependency(
            "asking the GPU for its figures needs nvidia-ml-py: pip install nvidia-ml-py"
        ) from None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise DeviceUnavailable(
            f"no NVIDIA driver answers here ({error}): use a preset such as a5000 instead"
        ) from None
    try:
        yield pynvml
    finally:
        pynvml.nvmlShutdown()


def _gpu(nvml: Any, handle: Any) -> Gpu:
    name = nvml.nvmlDeviceGetName(handle)
    capability = tuple(nvml.nvmlDeviceGetCudaComputeCapability(handle))
    if capability not in _MULTIPROCESSORS:
        text = ".".join(map(str, capability))
        raise DeviceUnavailable(
            f"{name} has compute capability {text}, whose multiprocessors are not known here: save a preset as a "
            "file and change its figures"
        )
    cores, warps = _MULTIPROCESSORS[capability]
    clock = nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_MEM) * 1e6
    return Gpu(
        name=name,
        memory=int(nvml.nvmlDeviceGetMemoryInfo(handle).total),
        bandwidth=2 * clock * nvml.nvmlDeviceGetMemoryBusWidth(handle) / 8,  # two transfers a cycle
        multiprocessors=nvml.nvmlDeviceGetNumGpuCores(handle) // cores,
        warps_per_multiprocessor=warps,
        launch=MACHINES["v100"].gpu.launch,
        sources={
            **dict.fromkeys(("memory", "bandwidth", "multiprocessors"), "NVML"),
            "warps_per_multiprocessor": MACHINES["v100"].gpu.sources["warps_per_multiprocessor"],
            "launch": _UNMEASURED,
        },
    )


def _link(device: Path) -> Link:
    # An idle GPU lowers its speed, so that only the highest speed of both ends says what it will be under load.
    ends = [end for end in (device, device.resolve().parent) if (end / "max_link_speed").is_file()]
    if not ends:
        raise DeviceUnavailable(f"{device} does not tell the speed of the GPU's link: use a preset instead")
    speed = min(float((end / "max_link_speed").read_text().split()[0]) * 1e9 for end in ends)
    generations = {rate: generation for generation, rate in TRANSFERS.items()}
    if speed not in generations:
        raise DeviceUnavailable(f"{device}: a link of {speed / 1e9:g} GT/s is none of PCIe 3.0 to 6.0")
    registers = read_registers((device / "config").read_bytes())
    told = dict.fromkeys(Registers._fields, _REGISTERS)
    if registers is None:
        registers = Registers(256, 512, 64, 8)
        told = dict.fromkeys(told, f"{NO_SOURCE}: only root may read the registers that tell")
    return PcieLink(
        generation=generations[speed],
        lanes=int((device / "current_link_width").read_text()),
        round_trip=MACHINES["v100"].link.round_trip,
        sources={
            **told,
            **dict.fromkeys(("generation", "lanes"), "sysfs"),
            **dict.fromkeys(("round_trip", "efficiency"), _UNMEASURED),
        },
        **registers._asdict(),
    )


def read_registers(space: bytes) -> Registers | None:
    """Find the PCI Express capability in a device's configuration space; None where only its head is readable."""
    if len(space) < 256:
        return None
    at = space[0x34]
    while at and space[at] != _EXPRESS:
        at = space[at + 1]
    if not at:
        return None
    control, link, control_2 = (
        int.from_bytes(space[at + offset : at + offset + 2], "little") for offset in (0x08, 0x10, 0x28)
    )
    return Registers(
        payload=128 << (control >> 5 & 7),
        read_request=128 << (control >> 12 & 7),
        completion_boundary=128 if link & 0x8 else 64,
        tag_bits=10 if control_2 & 0x1000 else 8 if control & 0x100 else 5,
    )


def _host(root: Path) -> Host:
    known = MACHINES["a5000"].host
    try:
        lines = (root / "proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return Host(
        name=next(models, "this computer"),
        bandwidth=known.bandwidth,
        access=known.access,
        latency=known.latency,
        sources=dict.fromkeys(("bandwidth", "access", "latency", "fault_batch"), _UNMEASURED),
    )
