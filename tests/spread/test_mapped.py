"""A value mapped from a file is the value that was laid out, and arrays are not copied."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays, floating_dtypes, integer_dtypes

from grapin.pool import lay_out, map_value

numbers = integer_dtypes(endianness="=") | floating_dtypes(endianness="=")
values = st.recursive(
    st.none() | st.integers() | st.text() | arrays(numbers, array_shapes(min_dims=0, min_side=0)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


def spelled(value: Any) -> Any:
    """The value with arrays as what they consist of, so that NaNs and kinds of numbers count."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, list):
        return [spelled(each) for each in value]
    return {name: spelled(each) for name, each in value.items()} if isinstance(value, dict) else value


@given(values)
def test_what_is_mapped_is_what_was_laid_out(value: Any) -> None:
    with TemporaryDirectory() as folder:
        lay_out(value, Path(folder))
        assert spelled(map_value(Path(folder))) == spelled(value)


def test_arrays_are_aligned_and_writing_to_them_leaves_the_file_alone(tmp_path: Path) -> None:
    lay_out([np.arange(5, dtype=np.int8), np.arange(3.0)], tmp_path)
    first, second = map_value(tmp_path)
    assert second.ctypes.data % 64 == 0
    assert not second.flags.owndata
    first += 1
    assert map_value(tmp_path)[0].tolist() == [0, 1, 2, 3, 4]
