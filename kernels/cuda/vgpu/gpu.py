"""`VirtualGpu`: what a launch is told, what it reports, and errors in one sentence."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.errors import GrapinError, InvalidArgument
from grapin.kernels.cuda.vgpu import effects as at
from grapin.kernels.cuda.vgpu.accesses import Memory
from grapin.kernels.cuda.vgpu.effects import LANES, Column, Effect
from grapin.kernels.cuda.vgpu.executor import MANY, PLACE_WIDTH, SETTINGS, Schedule, Setting, State, execute
from grapin.kernels.cuda.vgpu.races import MARKS, Shadow
from grapin.kernels.cuda.vgpu.traffic import (
    COUNTS,
    EMPTY,
    SECTORS,
    Count,
    Home,
    Traffic,
    empty_caches,
    gathering_room,
)
from grapin.kernels.cuda.vgpu.translation import Translated
from grapin.kernels.cuda.vgpu.warps import Problem, Warps
from grapin.kernels.cuda.vgpu.weak import weak_memory
from grapin.units import PAGE
from grapin.validation import check_choice

SCHEDULES = {one.name.lower(): one for one in Schedule}
"""Schedules by name."""


class KernelFault(GrapinError):
    """A kernel did what no kernel may do: touch memory that is not its own, race, wait for ever."""


@dataclass(frozen=True)
class Model:
    """The GPU that is modelled, as far as it shows in what memory accesses move."""

    multiprocessors: int = 64
    """RTX A5000: NVIDIA's RTX A5000 data sheet, 8,192 CUDA cores of 128 a multiprocessor."""
    l1: int = 128 << 10
    """Bytes of a multiprocessor's L1: NVIDIA Ampere GA102 white paper, combined with shared memory."""
    l1_ways: int = 8
    """No source: NVIDIA publishes none."""
    l2: int = 6 << 20
    """Bytes of the L2: NVIDIA Ampere GA102 white paper, 512 KB for each of 12 memory controllers."""
    l2_ways: int = 16
    """No source: NVIDIA publishes none."""


@dataclass(frozen=True)
class Options:
    """How launches are executed."""

    schedule: str = "plain"
    seed: int = 0
    quantum: int = 8
    """Effects that a warp carries out before another one gets its turn."""
    resident: int = 0
    """Blocks that are on the GPU at once; 0 for all of the launch."""
    weak: bool = False
    races: bool = True
    counting: int = 2
    """0 counts instructions and bytes, 1 sectors and requests too, 2 what L1 and L2 leave of them."""
    most_steps: int = 1 << 62
    """After so many effects a launch counts as endless."""

    def __post_init__(self) -> None:
        check_choice("schedule", self.schedule, SCHEDULES)
        if self.quantum < 1:
            raise InvalidArgument(f"quantum={self.quantum} must be at least 1")


class Region(NamedTuple):
    """Memory that a launch may touch."""

    address: int
    size: int
    home: Home = Home.DEVICE


@dataclass
class Launched:
    """What one launch did."""

    kernel: str
    lines: NDArray[np.int64]
    """The PTX line of each effect."""
    counts: NDArray[np.int64]
    """Effect, home, `Count`."""
    kinds: NDArray[np.int64]
    """The kind of each effect."""
    instructions: int = 0
    lane_instructions: int = 0
    branches: int = 0
    diverged: int = 0
    idle_lanes: int = 0
    """Lanes that memory instructions left idle."""
    steps: int = 0
    pages: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """Pages of host and unified memory that it touched, each once: addresses over the size of a page."""

    def total(self, home: Home, *kinds: Effect) -> NDArray[np.int64]:
        """Return the counts of all instructions of some kinds for one home, loads unless told otherwise."""
        wanted = np.isin(self.kinds, kinds or (Effect.LOAD,))
        found: NDArray[np.int64] = self.counts[wanted, home].sum(axis=0)
        return found

    def nsight(self) -> dict[str, int]:
        """Return what Nsight Compute counts of loads, by its names (docs/virtual-gpu.md)."""
        loads = {home: self.total(home) for home in (Home.DEVICE, Home.HOST, Home.MANAGED)}
        asked = loads[Home.DEVICE] + loads[Home.HOST] + loads[Home.MANAGED]

        def sectors(counts: Any, stage: Count) -> int:
            return int(counts[stage : stage + SECTORS] @ np.arange(1, SECTORS + 1))

        behind_l1, behind_l2 = (sectors(asked, stage) for stage in (Count.AFTER_L1, Count.AFTER_L2))
        return {
            "smsp__inst_executed.sum": self.instructions,
            "smsp__thread_inst_executed.sum": self.lane_instructions,
            "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": int(asked[Count.INSTRUCTIONS]),
            "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": int(asked[Count.SECTORS]),
            "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_miss.sum": behind_l1,
            "lts__t_sectors_op_read.sum": behind_l1,
            "lts__t_sectors_op_read_lookup_miss.sum": behind_l2,
            "lts__t_sectors_aperture_sysmem_op_read.sum": sectors(loads[Home.HOST], Count.AFTER_L1),
        }


@dataclass
class VirtualGpu:
    """Executes launches one after the other; its L2 keeps what it holds from one to the next."""

    model: Model = field(default_factory=Model)
    options: Options = field(default_factory=Options)
    launches: int = 0

    def __post_init__(self) -> None:
        self._l1 = empty_caches(self.model.multiprocessors, self.model.l1, self.model.l1_ways)
        self._l2 = empty_caches(1, self.model.l2, self.model.l2_ways)
        self._lines = gathering_room()
        self._room: dict[tuple[int, int], NDArray[np.int64]] = {}

    def set(self, **changes: Any) -> None:
        """Change some options for the launches to come."""
        self.options = replace(self.options, **changes)

    def launch(
        self,
        kernel: Translated,
        grid: Sequence[int],
        block: Sequence[int],
        parameters: Sequence[tuple[int, int]],
        regions: Sequence[Region],
        *,
        dynamic_shared: int = 0,
    ) -> Launched:
        """Execute a kernel; `parameters` are patterns of bits and their sizes, `regions` all that it may touch."""
        lowered, options = kernel.lowered, self.options
        grid, block = (*grid, 1, 1)[:3], (*block, 1, 1)[:3]
        threads, blocks = int(np.prod(block)), int(np.prod(grid))
        if not 1 <= threads <= 1024:
            raise InvalidArgument(f"a block must have 1 to 1024 threads, not {threads}")
        warps_of_block = -(-threads // LANES)
        effects = kernel.effects
        whole = Effect.GRID_BARRIER in effects[:, Column.KIND]
        resident = blocks if whole or not options.resident else min(options.resident, blocks)
        shared = lowered.shared_bytes + dynamic_shared
        shared_step = -(-shared // 128) * 128
        warps = self._warps(resident * warps_of_block, lowered.warp_bytes)
        shared_memory = _aligned(max(resident * shared_step, 1), 128)
        local_memory = _aligned(max(resident * warps_of_block * lowered.local_bytes * LANES, 1), 128)
        variables, own = _variables(kernel)
        launch = np.zeros(at.VARIABLES + len(variables) + 1, np.int64)
        given = _given(kernel, parameters)
        launch[at.FUEL], launch[at.PARAMETERS], launch[at.SHARED_BYTES] = MANY, given.ctypes.data, shared
        launch[at.GRID_SHAPE : at.GRID_SHAPE + 3], launch[at.BLOCK_SHAPE : at.BLOCK_SHAPE + 3] = grid, block
        launch[at.VARIABLES : at.VARIABLES + len(variables)] = variables
        table, pages = _table([*regions, *own])
        watched = resident if options.races and shared else 0
        memory = Memory(
            table,
            np.full(len(effects), -1, np.int64),
            np.array([shared, lowered.local_bytes * LANES, shared_step], np.int64),
            np.empty(LANES, np.int64),
            np.zeros(8, np.int64),
            Traffic(
                np.zeros((len(effects), len(Home), COUNTS), np.int64),
                self._l1,
                self._l2,
                pages,
                np.array([options.counting, self._l1.ctypes.data, self._l2.ctypes.data], np.int64),
                self._lines,
            ),
            Shadow(
                np.zeros((watched, shared, MARKS), np.int32),
                np.ones(max(watched, 1), np.int64),
                np.ones(max(watched * warps_of_block, 1), np.int64),
            ),
            weak_memory(resident * warps_of_block, on=options.weak, seed=_mixed(options.seed, self.launches)),
        )
        self._l1[:] = EMPTY  # a launch finds nothing there
        settings = np.zeros(SETTINGS, np.int64)
        settings[Setting.FUNCTION], settings[Setting.BLOCKS] = kernel.function, blocks
        settings[Setting.RESIDENT], settings[Setting.WARPS] = resident, warps_of_block
        settings[Setting.THREADS], settings[Setting.QUANTUM] = threads, options.quantum
        settings[Setting.SCHEDULE] = SCHEDULES[options.schedule]
        settings[Setting.RANDOM] = _mixed(options.seed, self.launches)
        settings[Setting.MOST_STEPS] = options.most_steps
        settings[Setting.PROCESSORS] = self.model.multiprocessors
        settings[Setting.SHARED_BASE] = shared_memory.ctypes.data
        settings[Setting.LOCAL_BASE] = local_memory.ctypes.data
        state = State(
            Warps(warps, warps.view(np.uint32), warps.view(np.uint16)),
            effects,
            launch,
            np.zeros((resident, PLACE_WIDTH), np.int64),
            settings,
            memory,
            np.array([warps.ctypes.data, launch.ctypes.data, lowered.warp_bytes], np.int64),
        )
        self.launches += 1
        problem = execute(state)
        if problem:
            raise KernelFault(_sentence(kernel, state, warps_of_block))
        return Launched(
            kernel.name,
            effects[:, Column.LINE],
            memory.traffic.counts,
            effects[:, Column.KIND],
            int(launch[at.INSTRUCTIONS]),
            int(launch[at.LANE_INSTRUCTIONS]),
            int(launch[at.BRANCHES]),
            int(launch[at.DIVERGED]),
            int(settings[Setting.IDLE_LANES]),
            int(settings[Setting.STEPS]),
            _touched(table, pages),
        )

    def _warps(self, count: int, size: int) -> NDArray[np.int64]:
        """Return memory for warps, not cleared: that would take longer than most launches do."""
        key = count, size
        if key not in self._room:
            self._room = {key: _aligned(count * size, 64).view(np.int64).reshape(count, size // 8)}
        return self._room[key]


def _aligned(size: int, alignment: int) -> NDArray[np.uint8]:
    whole = np.empty(size + alignment, np.uint8)
    skip = -whole.ctypes.data % alignment
    return whole[skip : skip + size]


def _mixed(seed: int, launch: int) -> int:
    return ((seed * 0x9E3779B97F4A7C15 + launch * 0xBF58476D1CE4E5B9) & ((1 << 62) - 1)) | 1


def _given(kernel: Translated, parameters: Sequence[tuple[int, int]]) -> NDArray[np.uint8]:
    """Lay the parameters out as the kernel expects them."""
    wanted = kernel.lowered.parameters
    sizes = [size for _, size in wanted]
    if [size for _, size in parameters] != sizes:
        raise InvalidArgument(
            f"kernel {kernel.name} takes parameters of {sizes} bytes, "
            f"not of {[size for _, size in parameters]}"
        )
    given = bytearray(wanted[-1][0] + wanted[-1][1] if wanted else 1)
    for (place, size), (pattern, _) in zip(wanted, parameters, strict=True):
        given[place : place + size] = (pattern & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    return np.frombuffer(given, np.uint8)


_MODULES: dict[int, tuple[Any, list[NDArray[np.uint8]]]] = {}
"""The variables of modules, which keep their values from launch to launch."""


def _variables(kernel: Translated) -> tuple[list[int], list[Region]]:
    key = id(kernel.module)
    if key not in _MODULES:
        made = []
        for name in kernel.lowered.variables:
            variable = kernel.module.variables[name]
            content = np.zeros(max(variable.size, 1), np.uint8)
            width = max(variable.size // max(len(variable.values), 1), 1)
            for place, value in enumerate(variable.values):
                if value:
                    pattern = int(value, 0) & ((1 << 8 * width) - 1)
                    content[place * width : (place + 1) * width] = np.frombuffer(
                        pattern.to_bytes(width, "little"), np.uint8
                    )
            aligned = _aligned(len(content), 128)
            aligned[:] = content
            made.append(aligned)
        _MODULES[key] = kernel.module, made
    arrays = _MODULES[key][1]
    addresses = [array.ctypes.data for array in arrays]
    return addresses, [Region(address, len(array)) for address, array in zip(addresses, arrays, strict=True)]


def _table(regions: Sequence[Region]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Order regions, put those together that overlap, and make room to note touched pages of host memory."""
    rows: list[list[int]] = []
    for region in sorted(one for one in regions if one.size):
        end = region.address + region.size
        if rows and region.address < rows[-1][1]:
            rows[-1][1] = max(rows[-1][1], end)
            rows[-1][2] = max(rows[-1][2], int(region.home))
        else:
            rows.append([region.address, end, int(region.home), 0])
    pages = 0
    for row in rows:
        if row[2] != Home.DEVICE:
            row[3] = pages - row[0] // PAGE
            pages += (row[1] - 1) // PAGE - row[0] // PAGE + 1
    return np.array(rows or [[0, 0, 0, 0]], np.int64), np.zeros(pages, np.uint8)


def _touched(table: NDArray[np.int64], pages: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the numbers of pages whose flag is set."""
    parts = [np.zeros(0, np.int64)]
    for begin, end, home, behind in table.tolist():
        if home != Home.DEVICE:
            first, last = begin // PAGE, (end - 1) // PAGE
            parts.append(first + np.flatnonzero(pages[first + behind : last + behind + 1]))
    return np.concatenate(parts)


def _sentence(kernel: Translated, state: State, warps_of_block: int) -> str:
    """Say what went wrong, where, and in which thread."""
    problem, effect, warp, lane, address, other = (int(number) for number in state.memory.fault[:6])
    line = int(state.effects[effect, Column.LINE])
    shown = state.effects[effect]
    size = int(shown[Column.SIZE] * shown[Column.COUNT])
    words = state.warps.of_4[warp]
    block = int(words[at.BLOCK >> 2])
    thread = int(words[at.WARP_OF_BLOCK >> 2]) * LANES + max(lane, 0)
    who = (
        f"thread {thread} of block {block}" if lane >= 0 else f"warp {warp % warps_of_block} of block {block}"
    )
    where = f"kernel {kernel.name}, PTX line {line}, {who}"
    verb = {Effect.LOAD: "reads", Effect.STORE: "writes", Effect.ATOMIC: "changes"}.get(
        int(shown[Column.KIND]), ""
    )  # type: ignore[call-overload]
    if problem == Problem.OUT_OF_BOUNDS:
        return (
            f"{where}: {verb} {size} bytes at {address:#x}, which is out of bounds of all memory it was given"
        )
    if problem == Problem.MISALIGNED:
        return f"{where}: {verb} {size} bytes at {address:#x}, which is no multiple of {size}"
    if problem == Problem.RACE:
        with_ = int(state.effects[other, Column.LINE])
        return f"{where}: {verb} shared memory at {address:#x} in a race with PTX line {with_}: no barrier lies between"
    if problem == Problem.PARTED_BARRIER:
        return f"{where}: lanes of one warp wait at different barriers of the block"
    if problem == Problem.ABSENT_LANE:
        return f"{where}: a lane shuffles from a lane that does not take part"
    if problem == Problem.NOT_IN_MASK:
        return f"{where}: a lane is not in the mask that it names"
    if problem == Problem.DEADLOCK:
        return f"kernel {kernel.name}: {_waiting(state)} wait for ever"
    if problem == Problem.ENDLESS:
        return f"kernel {kernel.name} did not end after {int(state.settings[Setting.STEPS])} steps (PTX line {line})"
    return f"{where}: trap"


def _waiting(state: State) -> str:
    found = []
    for offset, what in (
        (at.MEETING, "lanes of their warp"),
        (at.AT_BARRIER, "their block"),
        (at.AT_GRID, "the grid"),
    ):
        masks = state.warps.of_4[:, offset >> 2]
        count = sum(int(mask).bit_count() for mask in masks)
        if count:
            found.append(f"{count} lanes for {what}")
    return " and ".join(found) or "no lanes"
