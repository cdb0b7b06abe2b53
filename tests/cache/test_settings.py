"""What may be asked of a cache, and how it is refused."""

import numpy as np
import pytest

import grapin
from grapin.cache import CacheSettings, HotCache, read_settings
from grapin.programs import BFS


@pytest.mark.parametrize(
    ("given", "policy", "capacity"),
    [
        ("10%", "adaptive", 100),
        ("0.5 %", "adaptive", 5),
        ("1K", "adaptive", 1024),
        ("published:50%", "published", 500),
        (64, "adaptive", 64),
    ],
)
def test_a_size_is_a_part_of_the_edges_or_bytes(given: str | int, policy: str, capacity: int) -> None:
    assert read_settings(given, policy="adaptive", edge_bytes=1000) == CacheSettings(policy, capacity)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("ten", "cache='ten' must be a part of the edges' bytes such as 10%, or a size such as 1G or 32M"),
        ("adoptive:1G", "cache policy='adoptive' must be one of .*did you mean 'adaptive'"),
        (-1, "cache=-1 must be at least 0"),
        ("oracle:1G", "'oracle' knows what will be read: record a trace and replay it"),
    ],
)
def test_an_engine_refuses_a_cache_in_one_sentence(given: str | int, sentence: str) -> None:
    graph = grapin.Graph.from_edges([0, 1], [1, 2])
    with pytest.raises(grapin.InvalidArgument, match=sentence):
        grapin.Engine(graph, BFS(0), device="cpu", cache=given)


def test_room_under_a_system_that_keeps_no_copies_is_refused_with_the_remedy() -> None:
    graph = grapin.Graph.from_edges([0, 1], [1, 2])
    with pytest.raises(
        grapin.InvalidArgument, match=r"no use under system='grapin-zc'.*cache='adaptive:10%'"
    ):
        grapin.Engine(graph, BFS(0), device="cpu", system="grapin-zc", cache="10%")
    with pytest.raises(grapin.InvalidArgument, match="must be left out on device='reference'"):
        grapin.Engine(graph, BFS(0), device="reference", cache="10%")


def test_a_list_longer_than_a_chunk_is_never_held() -> None:
    cache = HotCache(CacheSettings("adaptive", 400, chunk=40))
    nothing = np.empty(0, np.int64)
    cache.begin(nothing, nothing, nothing, nothing)
    rows = np.array([[0, 0, 0, 11, 1], [0, 2, 32, 10, 1], [1, 0, 0, 11, 1], [1, 2, 32, 10, 1]], np.int64)
    assert cache.observe(rows).held.tolist() == [0, 0, 0, 1]
