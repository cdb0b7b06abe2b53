"""A value in a file that several processes map: its arrays exist once, however many of them use it.

The parts of a value that offer their memory (arrays do, to pickle's protocol 5) lie one behind the other in the file;
the rest is pickled beside them.
"""

import pickle
from mmap import ACCESS_COPY, mmap
from pathlib import Path
from typing import Any

_ALIGNMENT = 64  # bytes: what NumPy gives arrays of its own, and vector instructions like


def lay_out(value: Any, folder: Path) -> None:
    """Write the value into a folder from which other processes can map it."""
    buffers: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    places = []
    with (folder / "buffers").open("wb") as file:
        file.write(bytes(_ALIGNMENT))  # an empty file cannot be mapped
        for buffer in buffers:
            with buffer.raw() as memory:
                places.append((file.tell(), len(memory)))
                file.write(memory)
            file.write(bytes(-file.tell() % _ALIGNMENT))
    (folder / "rest").write_bytes(pickle.dumps((rest, places)))


def map_value(folder: Path) -> Any:
    """Return the value; its arrays are the file's memory, copied where somebody writes.

    They could be read-only, but compiled functions would be compiled anew for such arrays.
    """
    rest, places = pickle.loads((folder / "rest").read_bytes())  # noqa: S301 - written above, by ourselves
    with (folder / "buffers").open("rb") as file:
        memory = memoryview(mmap(file.fileno(), 0, access=ACCESS_COPY))
    return pickle.loads(rest, buffers=[memory[start : start + size] for start, size in places])  # noqa: S301 - as above
