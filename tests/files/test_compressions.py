"""Compressed files load like plain ones, and damaged ones are refused."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from functools import partial

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from writing import ROWS, Row, as_npz, as_parquet, as_text, loaded, rows_of

from grapin.errors import InvalidFile

COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": partial(lzma.compress, preset=0),
    ".zst": zstandard.compress,
}
THREE = ("source", "target", "weight")
SAMPLE = as_text([(row, row + 1, row * row) for row in range(5000)])


@pytest.mark.parametrize("suffix", COMPRESSIONS)
@given(rows=ROWS)
def test_compressed_rows_come_back(suffix: str, rows: list[Row]) -> None:
    data = COMPRESSIONS[suffix](as_text(rows))
    assert rows_of(loaded(f"graph.txt{suffix}", data, columns=THREE)) == rows


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_compression_is_told_from_content_whatever_the_name(suffix: str) -> None:
    assert len(loaded("graph.txt", COMPRESSIONS[suffix](SAMPLE), columns=THREE)) == 5000


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_concatenated_archives_are_one_file(suffix: str) -> None:
    compress = COMPRESSIONS[suffix]
    edges = loaded(f"graph.txt{suffix}", compress(b"0 1\n1") + compress(b" 2\n"))
    assert rows_of(edges) == [(0, 1), (1, 2)]


@pytest.mark.parametrize("suffix", COMPRESSIONS)
@settings(max_examples=20)
@given(data=st.data())
def test_an_archive_cut_anywhere_is_refused(suffix: str, data: st.DataObject) -> None:
    whole = COMPRESSIONS[suffix](SAMPLE)
    kept = data.draw(st.integers(1, len(whole) - 1))
    with pytest.raises(InvalidFile, match=r"truncated|as its name says"):
        loaded(f"graph.txt{suffix}", whole[:kept], columns=THREE)


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_damage_inside_an_archive_is_refused(suffix: str) -> None:
    whole = bytearray(COMPRESSIONS[suffix](SAMPLE))
    middle = len(whole) // 2
    whole[middle : middle + 64] = bytes(64)
    with pytest.raises(InvalidFile, match=r"graph\.txt"):
        loaded(f"graph.txt{suffix}", bytes(whole), columns=THREE)


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_a_name_that_promises_another_compression_is_refused(suffix: str) -> None:
    with pytest.raises(InvalidFile, match="as its name says"):
        loaded(f"graph.txt{suffix}", SAMPLE)


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_an_archive_of_nothing_is_an_empty_file(suffix: str) -> None:
    with pytest.raises(InvalidFile, match="empty"):
        loaded(f"graph.txt{suffix}", COMPRESSIONS[suffix](b""))


def test_windows_beyond_the_usual_limit_of_zstandard_are_read() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=28, enable_ldm=True)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    data = compressor.compress(SAMPLE) + compressor.flush()
    assert zstandard.get_frame_parameters(data).window_size == 2**28
    assert len(loaded("graph.txt.zst", data, columns=THREE)) == 5000


def test_binary_formats_may_be_compressed_too() -> None:
    rows = [(0, 1, 3), (1, 2, 4)]
    assert rows_of(loaded("graph.parquet.zst", zstandard.compress(as_parquet(rows)))) == rows
    assert rows_of(loaded("graph.npz.gz", gzip.compress(as_npz(source=[0], target=[1])))) == [(0, 1)]
