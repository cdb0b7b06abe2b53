"""Simulated lanes do what the lanes of a warp do, in an order that a seed decides, and say so when they are stuck."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba.cuda", reason="the cudasim extra is not installed")

from numba import cuda

from grapin.kernels.cuda.backend import Shape, bind
from grapin.kernels.cuda.simulator import Simulator
from grapin.kernels.cuda.warp import (
    any_lane,
    ballot,
    broadcast,
    first_lane,
    lane_id,
    lanes_before,
    warp_minimum,
    warp_sum,
)


def launched(kernel: Any, *arguments: Any, warp: int = 4, threads: int = 8, seed: int = 0) -> None:
    simulator = Simulator(warp=warp, shape=Shape(1, threads), seed=seed)
    made = bind(simulator, "test", functions=(), kernels=(kernel,))
    simulator.launch(getattr(made, kernel.__name__), *arguments)


def together(out: Any) -> None:
    lane, thread = lane_id(), cuda.grid(1)
    mask = ballot(thread % 3 == 0)
    out[0, thread] = mask
    out[1, thread] = lanes_before(mask, lane)
    out[2, thread] = broadcast(np.int64(10 * thread), first_lane(mask))
    out[3, thread] = warp_minimum(np.uint64(100 - thread))
    out[4, thread] = warp_sum(np.int64(thread))
    out[5, thread] = any_lane(thread == 6)


def test_warp_operations_are_those_of_cuda() -> None:
    out = np.zeros((6, 8), np.int64)
    launched(together, out)
    # Threads 0 and 3 of the first warp and 6 of the second are multiples of three.
    assert out.tolist() == [
        [0b1001] * 4 + [0b0100] * 4,
        [0, 1, 1, 1, 0, 0, 0, 1],
        [0] * 4 + [60] * 4,
        [97] * 4 + [93] * 4,
        [6] * 4 + [22] * 4,
        [0] * 4 + [1] * 4,
    ]


def careless(counter: Any) -> None:
    before = counter[0]
    cuda.atomic.add(counter, 1, 1)
    counter[0] = before + 1


def test_a_race_shows_and_shows_again_with_the_same_seed() -> None:
    def lost(seed: int) -> int:
        counter = np.zeros(2, np.int64)
        launched(careless, counter, threads=8, seed=seed)
        assert counter[1] == 8
        return 8 - int(counter[0])

    assert any(lost(seed) for seed in range(10))
    assert [lost(seed) for seed in range(10)] == [lost(seed) for seed in range(10)]


def shared(out: Any) -> None:
    values = cuda.shared.array(8, np.int64)
    values[cuda.threadIdx.x] = cuda.threadIdx.x
    cuda.syncthreads()
    out[cuda.threadIdx.x] = values[7 - cuda.threadIdx.x]


def test_a_block_shares_memory_and_waits_for_itself() -> None:
    out = np.zeros(8, np.int64)
    launched(shared, out)
    assert out.tolist() == list(range(7, -1, -1))


def parting(out: Any) -> None:
    if lane_id() < 2:
        ballot(True)


def crossing(out: Any) -> None:
    if lane_id() < 2:
        ballot(True)
    else:
        any_lane(True)


def beyond(out: Any) -> None:
    out[100 * cuda.grid(1)] = 1


@pytest.mark.parametrize(
    ("kernel", "error", "sentence"),
    [
        (parting, RuntimeError, "4 lanes wait in ballot for others that have left"),
        (crossing, RuntimeError, "lanes of one warp meet in different operations: any_lane, ballot"),
        (beyond, IndexError, "out of bounds"),
    ],
)
def test_a_kernel_that_is_stuck_or_wrong_is_reported(
    kernel: Any, error: type[Exception], sentence: str
) -> None:
    out = np.zeros(8, np.int64)
    with pytest.raises(error, match=sentence):
        launched(kernel, out)
    launched(shared, out)  # and the lanes work on
    assert out[0] == 7
