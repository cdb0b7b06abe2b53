"""Tasks that other processes find by name: some take long, some fail, some kill whoever performs them."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def scaled_sum(factor: int, values: NDArray[np.int64]) -> int:
    """The later tasks are done first."""
    time.sleep(0.2 / factor)
    return factor * int(values.sum())


def found_after(task: tuple[float, bool]) -> float | None:
    """Take so many seconds, and return them if there is something to be found."""
    seconds, found = task
    time.sleep(seconds)
    return seconds if found else None


def is_found(result: float | None) -> bool:
    return result is not None


def who(_task: int) -> int:
    return os.getpid()


def fail_at(task: int, bad: int) -> int:
    if task == bad:
        raise ValueError(f"task {task} is bad")
    return task


def die_once(task: int, deadly: int, marker: str) -> int:
    """Kill the process at one task, the first time that it is tried."""
    if task == deadly and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 10 * task


def die(_task: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def sleep(seconds: float, marker: str) -> None:
    Path(marker).touch()
    time.sleep(seconds)


def writes(_task: int, values: NDArray[np.int64]) -> Any:
    values += 1
    return values.tolist(), values.flags.writeable
