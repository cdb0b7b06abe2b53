"""Batches from anywhere: a generator function, a queue, a list."""

from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any

from grapin.batch import Batch
from grapin.errors import InvalidBatch
from grapin.stream.stream import Stream


def from_iterator(batches: Iterable[Any]) -> Stream:
    """Take batches as they come, one at a time.

    Each item is a `Batch`, a tuple of its arguments in their order (`(insert, delete)`), or a mapping of them
    (`{"insert": [(0, 1)], "insert_vertices": [1]}`). A list can be streamed again, an iterator only once.
    """
    length = len(batches) if isinstance(batches, Sized) else None
    return Stream(lambda: _checked(batches), length=length)


def _checked(batches: Iterable[Any]) -> Iterator[Batch]:
    for number, item in enumerate(batches):
        yield item if isinstance(item, Batch) else _made(number, item)


def _made(number: int, item: Any) -> Batch:
    try:
        if isinstance(item, Mapping):
            return Batch(**item)
        if isinstance(item, tuple):
            return Batch(*item)
    except (InvalidBatch, TypeError) as error:
        raise InvalidBatch(f"batch {number} of the iterator: {error}") from error
    raise InvalidBatch(
        f"batch {number} of the iterator must be a Batch, a tuple or a mapping, not {item!r:.60}"
    )
