"""A binary heap of 64-bit items in an array: the order in which one thread settles vertices."""

from typing import Any

from grapin.compiled import compiled


@compiled
def heap_push(heap: Any, size: int, item: Any) -> int:
    """Add an item; the caller has made room. Return the new size."""
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        if heap[parent] <= item:
            break
        heap[child] = heap[parent]
        child = parent
    heap[child] = item
    return size + 1


@compiled
def heap_pop(heap: Any, size: int) -> int:
    """Remove `heap[0]`, the smallest item. Return the new size."""
    size -= 1
    item = heap[size]
    place = 0
    child = 1
    while child < size:
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= item:
            break
        heap[place] = heap[child]
        place = child
        child = 2 * place + 1
    heap[place] = item
    return size
