"""Poisoned memory is garbage in every fresh array, in compiled code too, and gone afterwards."""

import ctypes
from typing import Any

import numpy as np
import pytest

from grapin.compiled import compiled
from grapin.testing import poisoned_memory
from grapin.testing.poison import POISON


@compiled
def fresh_inside(count: int) -> Any:
    return np.empty(count, np.uint8)


def allocated(count: int) -> int:
    return np.empty(count, np.int32).size


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.uint8, "i4,f8"])
@pytest.mark.parametrize("shape", [0, 1, 1000, (3, 5)])
def test_fresh_arrays_are_full_of_garbage(dtype: Any, shape: Any) -> None:
    with poisoned_memory():
        arrays = [
            np.empty(shape, dtype),
            np.empty_like(np.zeros(shape, dtype)),
            np.empty(shape=shape, dtype=dtype),
        ]
    for array in arrays:
        assert array.shape == np.zeros(shape).shape
        assert set(array.tobytes()) <= {POISON}


def test_fresh_truth_values_are_all_true() -> None:
    with poisoned_memory():
        assert np.empty(9, bool).tobytes() == bytes([1] * 9)


def test_zeros_stay_zero() -> None:
    with poisoned_memory():
        assert not np.zeros(100_000).any()


def test_objects_are_left_alone() -> None:
    with poisoned_memory():
        assert np.empty(2, object).tolist() == [None, None]


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="needs the GNU C library's allocator")
def test_memory_that_compiled_code_allocates_is_garbage_too() -> None:
    with poisoned_memory():
        assert set(fresh_inside(100_000).tobytes()) == {POISON}


def test_code_that_allocates_can_be_compiled_while_memory_is_poisoned() -> None:
    with poisoned_memory():
        assert compiled(allocated)(3) == 3


def test_numpy_is_itself_again_afterwards_even_after_an_error() -> None:
    before = (np.empty, np.empty_like)
    with pytest.raises(KeyError), poisoned_memory():
        raise KeyError
    assert before == (np.empty, np.empty_like)
    assert np.empty is before[0]


def test_every_test_runs_with_poisoned_memory() -> None:
    assert set(np.empty(64, np.uint8).tolist()) == {POISON}
