"""Six bugs of CUDA kernels, each beside its cure: the virtual GPU finds every bug and clears every cure."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import cuda

from grapin.kernels.cuda.assembly import missing
from grapin.kernels.cuda.backend import Shape
from grapin.kernels.cuda.vgpu.backend import VirtualBackend
from grapin.kernels.cuda.vgpu.gpu import SCHEDULES, KernelFault, Model, Options, VirtualGpu

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")

INTERLEAVINGS = 40
FULL = np.uint32(0xFFFFFFFF)
NONE = np.uint32(0xFFFFFFFF)

BACKEND = VirtualBackend()
Made = tuple[Any, ...]
Judge = Callable[..., str | None]


def complaints(
    kernel: Any, make: Callable[[], Made], judge: Judge, shape: Shape, *, weak: bool = True
) -> set[str]:
    """Run a kernel under many interleavings; return what went wrong in any of them."""
    made = BACKEND.kernel(kernel, "planted")
    found = set()
    for seed in range(INTERLEAVINGS):
        schedule = list(SCHEDULES)[seed % len(SCHEDULES)]
        options = Options(schedule=schedule, seed=seed, quantum=2, weak=weak, most_steps=100_000)
        BACKEND.gpu = VirtualGpu(Model(), options)
        arguments = make()
        try:
            BACKEND.launch(made, *arguments, shape=shape)
        except KernelFault as fault:
            found.add(str(fault))
        else:
            wrong = judge(*arguments)
            found |= {wrong} if wrong else set()
    return found


# 1: a minimum that reads, compares and writes.


def lower_in_steps(least: Any, offers: Any) -> None:
    offer = offers[cuda.grid(1)]
    least[0] = min(least[0], offer)


def lower_atomically(least: Any, offers: Any) -> None:
    cuda.atomic.min(least, 0, offers[cuda.grid(1)])


def offers() -> Made:
    return np.array([10**6], np.uint64), np.random.default_rng(0).integers(1, 10**6, 128).astype(np.uint64)


def is_least(least: Any, given: Any) -> str | None:
    return None if least[0] == given.min() else "not the least"


def test_a_minimum_that_is_not_atomic_is_found() -> None:
    assert complaints(lower_in_steps, offers, is_least, Shape(2, 64)) == {"not the least"}
    assert complaints(lower_atomically, offers, is_least, Shape(2, 64)) == set()


# 2: threads read what others of their block wrote to shared memory, with no barrier between.


def turn_without_barrier(values: Any) -> None:
    room = cuda.shared.array(64, np.int32)
    room[cuda.threadIdx.x] = values[cuda.threadIdx.x]
    values[cuda.threadIdx.x] = room[63 - cuda.threadIdx.x]


def turn_with_barrier(values: Any) -> None:
    room = cuda.shared.array(64, np.int32)
    room[cuda.threadIdx.x] = values[cuda.threadIdx.x]
    cuda.syncthreads()
    values[cuda.threadIdx.x] = room[63 - cuda.threadIdx.x]


def numbered() -> Made:
    return (np.arange(64, dtype=np.int32),)


def is_turned(values: Any) -> str | None:
    return None if values.tolist() == list(range(64))[::-1] else "not turned"


def test_a_missing_barrier_is_found() -> None:
    found = complaints(turn_without_barrier, numbered, is_turned, Shape(1, 64))
    assert found
    assert all("in a race with PTX line" in one for one in found)
    assert complaints(turn_with_barrier, numbered, is_turned, Shape(1, 64)) == set()


# 3: the last warp goes beyond the end.


def double_all(values: Any) -> None:
    values[cuda.grid(1)] *= 2


def double_those_there_are(values: Any) -> None:
    if cuda.grid(1) < len(values):
        values[cuda.grid(1)] *= 2


def test_an_access_out_of_bounds_is_found() -> None:
    def some() -> Made:
        return (np.arange(50, dtype=np.int32),)

    def is_double(values: Any) -> str | None:
        return None if (values == 2 * np.arange(50)).all() else "not doubled"

    found = complaints(double_all, some, is_double, Shape(1, 64))
    assert found
    assert all("reads 4 bytes" in one and "out of bounds" in one for one in found)
    assert complaints(double_those_there_are, some, is_double, Shape(1, 64)) == set()


# 4: a message and a flag, with no fence between: the flag may be seen before the message.


def tell(message: Any, flag: Any, seen: Any) -> None:
    if cuda.blockIdx.x == 0:
        message[0] = 7
        cuda.atomic.add(flag, 0, 1)
    elif cuda.atomic.add(flag, 0, 0) == 1:
        seen[0] = message[0]


def tell_with_fences(message: Any, flag: Any, seen: Any) -> None:
    if cuda.blockIdx.x == 0:
        message[0] = 7
        cuda.threadfence()
        cuda.atomic.add(flag, 0, 1)
    elif cuda.atomic.add(flag, 0, 0) == 1:
        cuda.threadfence()
        seen[0] = message[0]


def test_a_stale_read_is_found() -> None:
    def words() -> Made:
        return np.zeros(1, np.int32), np.zeros(1, np.int32), np.full(1, -1, np.int32)

    def came_whole(_message: Any, _flag: Any, seen: Any) -> str | None:
        return None if seen[0] in (-1, 7) else "stale"

    assert complaints(tell, words, came_whole, Shape(2, 1)) == {"stale"}
    assert complaints(tell_with_fences, words, came_whole, Shape(2, 1)) == set()


# 5: a shuffle of the whole warp that only some lanes come to.


def shuffle_within_a_branch(values: Any) -> None:
    value = values[cuda.threadIdx.x]
    if value % 2:
        values[cuda.threadIdx.x] = cuda.shfl_sync(FULL, value, 0)


def shuffle_before_the_branch(values: Any) -> None:
    value = values[cuda.threadIdx.x]
    first = cuda.shfl_sync(FULL, value, 0)
    if value % 2:
        values[cuda.threadIdx.x] = first


def test_a_divergent_shuffle_is_found() -> None:
    def numbers() -> Made:
        return (np.arange(32, dtype=np.int32),)

    def is_first(values: Any) -> str | None:
        return None if (values[1::2] == 0).all() else "not the first"

    found = complaints(shuffle_within_a_branch, numbers, is_first, Shape(1, 32))
    assert found
    assert all("a lane shuffles from a lane that does not take part" in one for one in found)
    assert complaints(shuffle_before_the_branch, numbers, is_first, Shape(1, 32)) == set()


# 6: the published Algorithm 1: an atomic minimum of the result, then a loop that swaps the parent in. Its loss needs no
# weak memory: one thread pauses between the two.


def relax_as_published(result: Any, parents: Any, keys: Any) -> None:
    vertex = cuda.grid(1)
    key = keys[vertex]
    if cuda.atomic.min(result, 0, key) > key:
        before = parents[0]
        while True:
            before = cuda.atomic.cas(parents, 0, before, np.uint32(vertex))
            if result[0] != key or parents[0] == vertex:
                break


def relax_one_word(words: Any, keys: Any) -> None:
    vertex = cuda.grid(1)
    cuda.atomic.min(words, 0, np.uint64(keys[vertex]) << np.uint64(32) | np.uint64(vertex))


def test_the_published_parent_update_loses_a_parent() -> None:
    keys = np.array([9, 3, 7, 5, 8, 2, 6, 4] * 8, np.uint32)
    keys += np.arange(64, dtype=np.uint32) // 8 * 10  # keys are distinct: each result has one parent

    def two_words() -> Made:
        return np.array([1000], np.uint32), np.array([NONE], np.uint32), keys

    def belong_together(result: Any, parents: Any, _keys: Any) -> str | None:
        return None if keys[parents[0]] == result[0] else "another's parent"

    def one_word() -> Made:
        return np.array([1000 << 32], np.uint64), keys

    def is_right(words: Any, _keys: Any) -> str | None:
        key, parent = int(words[0]) >> 32, int(words[0]) & 0xFFFFFFFF
        return None if key == keys.min() == keys[parent] else "another's parent"

    for weak in (False, True):
        lost = complaints(relax_as_published, two_words, belong_together, Shape(64, 1), weak=weak)
        assert lost == {"another's parent"}
    assert complaints(relax_one_word, one_word, is_right, Shape(64, 1)) == set()
