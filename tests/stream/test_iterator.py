"""Streams from anywhere: items become batches one at a time, and a bad one is named."""

from collections.abc import Iterator

import pytest

from grapin import stream
from grapin.batch import Batch
from grapin.errors import InvalidArgument, InvalidBatch


def test_batches_tuples_and_mappings_all_become_batches() -> None:
    batch = Batch(insert=[(0, 1)], delete=[(1, 0)])
    items = [batch, ([(0, 1)], [(1, 0)]), {"insert": [(0, 1)], "delete": [(1, 0)]}]
    assert list(stream.from_iterator(items)) == [batch] * 3


def test_a_list_can_be_streamed_again_and_has_a_length() -> None:
    made = stream.from_iterator([Batch(), Batch()])
    assert len(made) == len(list(made)) == len(list(made)) == 2


def test_an_iterator_is_read_only_as_far_as_asked() -> None:
    read: list[int] = []

    def endless() -> Iterator[Batch]:
        while True:
            read.append(len(read))
            yield Batch()

    made = iter(stream.from_iterator(endless()))
    next(made)
    next(made)
    assert read == [0, 1]


def test_an_iterator_has_no_length() -> None:
    with pytest.raises(TypeError, match="does not know how many batches"):
        len(stream.from_iterator(iter([])))


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (([(0, 1)], [(0, 1)]), "batch 1 of the iterator: edge .0, 1. must not stand in both"),
        ({"inserted": []}, "batch 1 of the iterator: .*inserted"),
        (7, "batch 1 of the iterator must be a Batch, a tuple or a mapping, not 7"),
    ],
)
def test_a_bad_item_is_named_by_its_number(item: object, message: str) -> None:
    with pytest.raises(InvalidBatch, match=message):
        list(stream.from_iterator([Batch(), item]))


def test_a_stream_without_a_start_builds_no_graph() -> None:
    with pytest.raises(InvalidArgument, match="brings its own start"):
        stream.from_iterator([]).graph()
