"""The simulator as a backend: kernels stay plain Python, arrays are NumPy's, lanes take turns.

A block of CUDA threads as Python threads that take turns: Numba's simulator, made to interleave and to share warps.

Numba's simulator supplies the CUDA names; it starts a thread of the operating system for each lane and launch, knows no
warp operations, and leaves the interleaving to chance. Here lanes are kept from launch to launch, one of them runs at a
time, and at every atomic step a seeded die decides who goes on: the same seed, the same run, and races that show.

Lanes that wait for each other in different operations, or for one that has left, are reported instead of hanging.
"""

import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.cuda.simulator.kernelapi import Dim3, FakeCUDAAtomic, FakeCUDAModule, FakeCUDAShared

from grapin.kernels.cuda.backend import HostArrays, Shape
from grapin.kernels.rules import rebind

SWITCH = 0.25
"""How likely a lane passes its turn on at an atomic step."""


class _Aborted(BaseException):
    """Unwinds a lane after another one failed."""


class _Lane(threading.Thread):
    """One thread of a block; Numba's simulated names find their indices on the current thread."""

    block: "Block"
    """The block that it works for at the moment."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.threadIdx = self.blockIdx = Dim3(0, 0, 0)
        self.thread_id = 0
        self.turn = threading.Lock()
        self.turn.acquire()
        self.work: Callable[[], None] = lambda: None
        self.result: Any = None

    def run(self) -> None:
        """Do the work of one launch after the other."""
        # Overflow and division follow the hardware: they have a result, and no one to warn.
        with np.errstate(all="ignore"):
            while True:
                self.turn.acquire()
                try:
                    if self.block.failure is None:
                        self.work()
                except _Aborted:
                    pass
                except BaseException as error:  # noqa: BLE001  # raised again where the kernel was launched
                    self.block.failure = self.block.failure or error
                self.block.leave()

    def syncthreads(self) -> None:
        """Wait for all threads of the block."""
        self.block.meet(self, "syncthreads", None, lambda values: [None] * len(values), of_warp=False)


_idle: list[_Lane] = []
"""Lanes that no block needs at the moment; to start one takes ten times as long as to wake one."""


class _Atomic(FakeCUDAAtomic):  # type: ignore[misc]  # Numba carries no types
    """Numba's simulated atomics; before each, another lane may get its turn."""

    def __init__(self, block: "Block") -> None:
        self._block = block

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_"):
            self._block.pause()
        return super().__getattribute__(name)


class SimulatedCuda(FakeCUDAModule):  # type: ignore[misc]  # Numba carries no types
    """What kernels know as `cuda`."""

    def __init__(self, block: "Block") -> None:
        super().__init__((1, 1, 1), (1, 1, 1), 0)
        self._block = block
        self._atomic = _Atomic(block)

    @property
    def laneid(self) -> int:
        """Refused: `lane_id` says why."""
        raise RuntimeError("cuda.laneid must not be used in kernels: use lane_id of warp.py")

    def begin_block(self, blocks: int, threads: int) -> None:
        """Set the shape of the launch, and forget the shared memory of the block before."""
        self.gridDim, self.blockDim = Dim3(blocks, 1, 1), Dim3(threads, 1, 1)
        self._shared = FakeCUDAShared(0)


class Block:
    """Runs one block of a launch at a time on lanes that it keeps."""

    def __init__(self, warp: int, seed: int) -> None:
        self.warp = warp
        self.cuda = SimulatedCuda(self)
        self.failure: BaseException | None = None
        self._random = random.Random(seed)  # noqa: S311  # dice, not secrets
        self._lanes: list[_Lane] = []
        self._ready: list[_Lane] = []
        self._meetings: dict[Any, dict[_Lane, tuple[str, Any]]] = {}
        self._left = 0
        self._finished = threading.Lock()
        self._finished.acquire()

    def run(self, work: Callable[[], None], index: int, blocks: int, threads: int) -> None:
        """Let every thread of a block do the work, and return when all are done."""
        self.cuda.begin_block(blocks, threads)
        self._lanes = [_idle.pop() if _idle else _started() for _ in range(threads)]
        for number, lane in enumerate(self._lanes):
            lane.threadIdx, lane.blockIdx, lane.thread_id = Dim3(number, 0, 0), Dim3(index, 0, 0), number
            lane.block, lane.work = self, work
        self._ready, self._meetings, self._left = list(self._lanes), {}, 0
        self.failure = None
        self._pass_turn()
        self._finished.acquire()
        _idle.extend(self._lanes)
        if self.failure is not None:
            raise self.failure

    def pause(self) -> None:
        """Let another lane go on, now and then."""
        if self._ready and self._random.random() < SWITCH:
            lane = _this_lane()
            self._pass_turn(lane)
            self._wait(lane)

    def meet(
        self, lane: _Lane, name: str, value: Any, combine: Callable[[list[Any]], list[Any]], *, of_warp: bool
    ) -> Any:
        """Wait until all lanes of the warp, or of the block, have come with a value; return this lane's result."""
        group = lane.thread_id // self.warp if of_warp else -1
        members = self._members(group)
        waiting = self._meetings.setdefault(group, {})
        waiting[lane] = name, value
        if len(waiting) < len(members):
            self._pass_turn()
            self._wait(lane)
            return lane.result
        del self._meetings[group]
        self._ready += [member for member in members if member is not lane]
        kinds = sorted({kind for kind, _ in waiting.values()})
        if len(kinds) > 1:
            raise RuntimeError(f"lanes of one warp meet in different operations: {', '.join(kinds)}")
        for member, result in zip(members, combine([waiting[each][1] for each in members]), strict=True):
            member.result = result
        return lane.result

    def leave(self) -> None:
        """End the current lane's work, and let another go on."""
        self._left += 1
        if self._left == len(self._lanes):
            self._finished.release()
        else:
            self._pass_turn()

    def _members(self, group: int) -> list[_Lane]:
        return self._lanes if group < 0 else self._lanes[group * self.warp : (group + 1) * self.warp]

    def _pass_turn(self, later: _Lane | None = None) -> None:
        """Give the turn to a lane that can go on; when none can, all that wait wait for ever.

        `later` is the lane that passes its turn on and can go on itself. Once another lane has the turn, nothing here
        may be touched.
        """
        if not self._ready:
            waiting = {lane: kind for each in self._meetings.values() for lane, (kind, _) in each.items()}
            kinds = ", ".join(sorted(set(waiting.values())))
            self.failure = self.failure or RuntimeError(
                f"{len(waiting)} lanes wait in {kinds} for others that have left"
            )
            self._ready, self._meetings = list(waiting), {}
        place = self._random.randrange(len(self._ready))
        self._ready[place], self._ready[-1] = self._ready[-1], self._ready[place]
        chosen = self._ready.pop()
        if later is not None:
            self._ready.append(later)
        chosen.turn.release()

    def _wait(self, lane: _Lane) -> None:
        lane.turn.acquire()
        if self.failure is not None:
            raise _Aborted


def _started() -> _Lane:
    lane = _Lane()
    lane.start()
    return lane


def _this_lane() -> Any:
    return threading.current_thread()


def operations(block: Block) -> dict[str, Any]:
    """Return the names of `warp.py`, and `cuda`, as the lanes of this block execute them."""

    def together(name: str, combine: Callable[[list[Any]], list[Any]]) -> Callable[[Any], Any]:
        return lambda value: block.meet(_this_lane(), name, value, combine, of_warp=True)

    def alike(reduce: Callable[[list[Any]], Any]) -> Callable[[list[Any]], list[Any]]:
        return lambda values: [reduce(values)] * len(values)

    def mask(flags: list[Any]) -> Any:
        return np.uint32(sum(1 << lane for lane, flag in enumerate(flags) if flag))

    barrier = together("sync_warp", alike(lambda _: None))
    shuffle = together("broadcast", lambda pairs: [pairs[int(lane)][0] for _, lane in pairs])
    return {
        "cuda": block.cuda,
        "WARP": block.warp,
        "LINE": block.warp,
        "lane_id": lambda: _this_lane().thread_id % block.warp,
        "ballot": together("ballot", alike(mask)),
        "any_lane": together("any_lane", alike(any)),
        "broadcast": lambda value, lane: shuffle((value, lane)),
        "sync_warp": lambda: barrier(None),
        "warp_minimum": together("warp_minimum", alike(min)),
        "warp_sum": together("warp_sum", alike(sum)),
        "lanes_before": lambda among, lane: (int(among) & ((1 << int(lane)) - 1)).bit_count(),
        "first_lane": lambda among: (int(among) & -int(among)).bit_length() - 1,
    }


class Simulator(HostArrays):
    """Runs kernels one lane at a time; a warp of few lanes and a small shape make it fast enough for tests.

    A warp of 4 has all the cases that one of 32 has, on lists of ten neighbours instead of a hundred.
    """

    name = "cudasim"

    def __init__(self, *, warp: int = 32, shape: Shape | None = None, seed: int = 0) -> None:
        self.warp = warp
        self.shape = shape or Shape(1, 2 * warp)
        self._block = Block(warp, seed)
        self._operations = operations(self._block)

    def function(self, plain: Any, **names: Any) -> Any:
        """Return the function with these global names bound; rules are closures, and need none of ours."""
        return plain if plain.__closure__ else rebind(plain, "bound", **self._operations, **names)

    def kernel(self, plain: Any, variant: str, **names: Any) -> Any:
        """Return the kernel with these global names bound."""
        return rebind(plain, variant, **self._operations, **names)

    def launch(self, kernel: Any, *arguments: Any, shape: Shape | None = None) -> None:
        """Run block after block."""
        shape = shape or self.shape
        for index in range(shape.blocks):
            self._block.run(lambda: kernel(*arguments), index, shape.blocks, shape.threads)
