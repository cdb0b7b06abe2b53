"""Generators: exact rows where they are simple, stated properties and fixed digests where they are random."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grapin.edges import EdgeList
from grapin.errors import InvalidArgument
from grapin.generators import HEAVIEST, generate, is_specification

SPECIFICATIONS = st.one_of(
    st.builds("rmat:{}:{}".format, st.integers(0, 7), st.integers(1, 8)),
    st.integers(2, 30).flatmap(
        lambda n: st.builds("er:{}:{}".format, st.just(n), st.integers(0, n * (n - 1)))
    ),
    st.builds("grid:{}:{}".format, st.integers(0, 6), st.integers(0, 6)),
    st.builds("star:{}".format, st.integers(0, 20)),
    st.builds("path:{}".format, st.integers(0, 20)),
    st.just("empty"),
)
SEEDS = st.integers(0, 2**64 - 1)


def pairs(edges: EdgeList) -> list[tuple[int, int]]:
    return list(zip(edges.source.tolist(), edges.target.tolist(), strict=True))


def digest(edges: EdgeList) -> str:
    assert edges.weight is not None
    columns = (edges.source, edges.target, edges.weight)
    return hashlib.sha256(b"".join(column.astype("<i4").tobytes() for column in columns)).hexdigest()[:16]


@given(SPECIFICATIONS, SEEDS)
def test_every_generated_graph_is_simple_sorted_and_in_range(spec: str, seed: int) -> None:
    edges = generate(spec, seed=seed)
    rows = pairs(edges)
    assert rows == sorted(set(rows))
    assert all(u != v and 0 <= u < edges.vertices and 0 <= v < edges.vertices for u, v in rows)
    assert edges.weight is not None
    assert edges.weight.dtype == np.int32
    assert len(edges.weight) == len(rows)
    assert not len(rows) or (edges.weight.min() >= 1 and edges.weight.max() <= HEAVIEST)


@given(SPECIFICATIONS, SEEDS)
def test_the_same_specification_and_seed_give_the_same_rows(spec: str, seed: int) -> None:
    assert digest(generate(spec, seed=seed)) == digest(generate(spec, seed=seed))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [("rmat:8:4", "76aaba150204e5cf"), ("er:50:200", "70255ebc8be707df"), ("grid:3:4", "3b9a2ca26cc37851")],
)
def test_the_rows_are_these_on_every_machine_and_under_every_numpy(spec: str, expected: str) -> None:
    assert digest(generate(spec, seed=7)) == expected


@pytest.mark.parametrize("spec", ["rmat:6:4", "er:40:100"])
def test_another_seed_gives_another_graph(spec: str) -> None:
    assert pairs(generate(spec, seed=1)) != pairs(generate(spec, seed=2))


@given(st.integers(2, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n * (n - 1)))), SEEDS)
def test_er_has_exactly_the_edges_asked_for(shape: tuple[int, int], seed: int) -> None:
    vertices, edges = shape
    made = generate(f"er:{vertices}:{edges}", seed=seed)
    assert (made.vertices, len(made)) == (vertices, edges)


def test_er_chooses_every_edge_equally_often() -> None:
    counts = np.zeros((5, 5), int)
    for seed in range(2000):
        made = generate("er:5:4", seed=seed, weights=False)
        counts[made.source, made.target] += 1
    chosen = counts[~np.eye(5, dtype=bool)]
    # 2000 draws of 4 out of 20 edges: 400 each, with a standard deviation of 18.
    assert np.abs(chosen - 400).max() < 5 * 18


def test_rmat_follows_its_quadrant_probabilities() -> None:
    made = generate("rmat:12:16", weights=False)
    degrees = np.sort(np.bincount(made.source, minlength=made.vertices))
    # The share of a vertex's first bit being 0 is 0.76 a level, so degrees are heavily skewed ...
    assert degrees[-1] > 20 * degrees.mean()
    # ... and most of what was drawn is distinct.
    assert 0.7 * 16 * 4096 < len(made) < 16 * 4096


def test_rmat_hides_degrees_from_ids() -> None:
    made = generate("rmat:12:16", weights=False)
    halves = np.bincount(made.source >= made.vertices // 2, minlength=2) / len(made)
    assert np.abs(halves - 0.5).max() < 0.1


def test_a_grid_joins_neighbours_both_ways_with_one_weight() -> None:
    made = generate("grid:2:3", seed=3)
    streets = {(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)}
    assert set(pairs(made)) == streets | {(v, u) for u, v in streets}
    assert made.weight is not None
    weights = dict(zip(pairs(made), made.weight.tolist(), strict=True))
    assert all(weights[u, v] == weights[v, u] for u, v in streets)


def test_a_star_and_a_path_are_what_their_names_say() -> None:
    assert pairs(generate("star:4")) == [(0, 1), (0, 2), (0, 3)]
    assert pairs(generate("path:4")) == [(0, 1), (1, 2), (2, 3)]


def test_weights_can_be_left_out() -> None:
    assert generate("star:4", weights=False).weight is None


@pytest.mark.parametrize("text", ["rmat:4", "er:3:1", "grid:2:2", "star:3", "path:2", "empty", "rmat:oops"])
def test_a_generators_name_with_numbers_is_a_specification(text: str) -> None:
    assert is_specification(text)


@pytest.mark.parametrize("text", ["graph.txt", "./star:3", "rmat", "C:\\graph.txt", "empty:3", ""])
def test_a_path_is_no_specification(text: str) -> None:
    assert not is_specification(text)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("rmat", r"spec='rmat' must be rmat:SCALE\[:EDGEFACTOR\] with whole numbers, such as rmat:18:16"),
        ("rmat:x", "such as rmat:18:16"),
        ("rmat:31", "SCALE=31 must be at most 30"),
        ("er:3", "such as er:1000:5000"),
        ("er:3:7", "M=7 must be at most 6"),
        ("star:-1", "such as star:1000"),
        ("path:1:2", "such as path:1000"),
        ("rmt:8", "must be one of rmat:SCALE"),
    ],
)
def test_a_wrong_specification_is_refused_with_an_example(spec: str, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        generate(spec)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5])
def test_a_seed_is_a_64_bit_number(seed: int) -> None:
    with pytest.raises(InvalidArgument, match="seed="):
        generate("rmat:3", seed=seed)


def test_the_package_offers_the_function_whatever_was_imported_before() -> None:
    import grapin

    assert callable(grapin.generate)
