import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from grapin.kernels.cpu.monotone.buckets import (
    BLOCK,
    BUCKETS,
    NO_BLOCK,
    WAITING,
    Buckets,
    bucket_of,
    detach,
    lowest,
    new_buckets,
    put,
    release,
    split,
    with_room,
)
from grapin.kernels.cpu.monotone.forward import heap_pop, heap_push

KEY = st.integers(0, 2**32 - 2)
CLOSE_KEY = st.integers(1000, 1040)


def take_bucket(buckets: Buckets, bucket: int) -> list[int]:
    taken: list[int] = []
    block, filled = detach(buckets, bucket)
    while block != NO_BLOCK:
        taken += buckets.items[block * BLOCK : block * BLOCK + filled].tolist()
        block, filled = release(buckets, block), BLOCK
    return taken


def take_best(buckets: Buckets, words: NDArray[np.uint64]) -> tuple[int, list[int]]:
    """Return the best key that waits and the vertices that have it."""
    while (bucket := lowest(buckets)) > 0:
        if bucket == BUCKETS:
            return -1, []
        split(buckets, bucket, words)
    items = take_bucket(buckets, 0)
    return items[0] >> 32, sorted(item & 0xFFFFFFFF for item in items)


def filed(keys: list[int]) -> tuple[Buckets, NDArray[np.uint64]]:
    words = np.array(keys, np.uint64) << np.uint64(32)
    buckets = new_buckets(0, np.uint64(min(keys)))
    for vertex, word in enumerate(words):
        buckets = with_room(buckets, 1)
        put(buckets, word | np.uint64(vertex))
    return buckets, words


@given(KEY, KEY)
def test_a_bucket_is_the_highest_bit_that_differs(key: int, origin: int) -> None:
    assert bucket_of(np.uint64(key), np.uint64(origin)) == (key ^ origin).bit_length()


@given(st.lists(st.one_of(KEY, CLOSE_KEY), min_size=1, max_size=300))
def test_keys_come_out_in_ascending_order_each_with_all_its_vertices(keys: list[int]) -> None:
    buckets, words = filed(keys)
    for key in sorted(set(keys)):
        assert take_best(buckets, words) == (key, [v for v, own in enumerate(keys) if own == key])
    assert take_best(buckets, words) == (-1, [])
    assert buckets.state[WAITING] == 0


@given(st.lists(st.tuples(CLOSE_KEY, st.integers(0, 40)), min_size=1, max_size=300))
def test_a_vertex_whose_key_improved_comes_out_once_with_the_better_key(rows: list[tuple[int, int]]) -> None:
    buckets, words = filed([key for key, _ in rows])
    origin = int(buckets.origin[0])
    better = [max(origin, key - gain) for key, gain in rows]
    for vertex, ((key, _), new) in enumerate(zip(rows, better, strict=True)):
        if new < key:
            words[vertex] = new << 32
            buckets = with_room(buckets, 1)
            put(buckets, words[vertex] | np.uint64(vertex))
    taken: dict[int, int] = {}
    for key in sorted(set(better)):
        best, vertices = take_best(buckets, words)
        live = [vertex for vertex in vertices if better[vertex] == best]
        assert best == key
        taken |= dict.fromkeys(live, best)
        assert live == [vertex for vertex, own in enumerate(better) if own == key]
    assert taken == dict(enumerate(better))


def test_blocks_are_used_again() -> None:
    buckets = new_buckets(1000, np.uint64(0))
    size = buckets.items.size
    words = np.arange(1000, dtype=np.uint64) << np.uint64(32)
    for _ in range(5):
        buckets.origin[0] = 0
        buckets = with_room(buckets, 1000)
        for vertex in range(1000):
            put(buckets, words[vertex] | np.uint64(vertex))
        assert [take_best(buckets, words)[0] for _ in range(1000)] == list(range(1000))
    assert buckets.items.size == size


@given(st.lists(st.one_of(st.none(), st.integers(0, 2**64 - 1)), max_size=60))
def test_a_heap_gives_back_its_smallest_item_whatever_comes_and_goes(steps: list[int | None]) -> None:
    heap, size, expected = np.zeros(64, np.uint64), 0, []
    for step in steps:
        if step is not None:
            size = heap_push(heap, size, np.uint64(step))
            expected.append(step)
        elif expected:
            assert int(heap[0]) == min(expected)
            expected.remove(min(expected))
            size = heap_pop(heap, size)
        assert size == len(expected)
    while size:
        assert int(heap[0]) == min(expected)
        expected.remove(min(expected))
        size = heap_pop(heap, size)
