"""Time as it is taken: by the host's clock, and where a GPU works, by the GPU's as well."""

import gc
from collections.abc import Callable
from time import perf_counter
from typing import Any, Generic, NamedTuple, TypeVar

Result = TypeVar("Result")


class Timed(NamedTuple, Generic[Result]):
    """What a call returned, and the seconds it took."""

    result: Result
    seconds: float
    device_seconds: float | None
    """Between two CUDA events around it; None where no GPU is asked."""


class Clock:
    """Times calls for one device.

    An engine returns when its last result has been copied back, so both clocks see all of the work.
    """

    def __init__(self, device: str) -> None:
        self._cuda: Any = None
        if device == "cuda":
            from cupy import cuda

            self._cuda = cuda
            self._stream = cuda.Stream(non_blocking=True)
            self._begin, self._end = cuda.Event(), cuda.Event()

    def time(self, call: Callable[[], Result]) -> Timed[Result]:
        """Call, while Python does not stop to look for garbage."""
        gc.disable()
        try:
            if self._cuda is not None:
                self._begin.record(self._stream)
            begin = perf_counter()
            result = call()
            seconds = perf_counter() - begin
            return Timed(result, seconds, self._events())
        finally:
            gc.enable()

    def _events(self) -> float | None:
        if self._cuda is None:
            return None
        self._end.record(self._stream)
        self._end.synchronize()
        return float(self._cuda.get_elapsed_time(self._begin, self._end)) / 1e3  # CUDA counts milliseconds
