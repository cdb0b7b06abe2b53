"""Kernels written as PTX, run on NumPy arrays: what the tests of the virtual GPU share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.kernels.cuda.vgpu.gpu import Launched, Model, Options, Region, VirtualGpu
from grapin.kernels.cuda.vgpu.traffic import Home
from grapin.kernels.cuda.vgpu.translation import translate

HEAD = """.version 8.0
.target sm_80
.address_size 64
"""


def kernel(body: str, parameters: int, *, before: str = "") -> str:
    """Return the text of a kernel whose parameters `p0`, `p1`, ... are addresses or numbers of 64 bits."""
    given = ", ".join(f".param .u64 p{number}" for number in range(parameters))
    kinds = {"pred": "p", "b16": "h", "b32": "r", "b64": "d", "f32": "f", "f64": "g"}
    registers = " ".join(f".reg .{kind} %{name}<40>;" for kind, name in kinds.items())
    return f"{HEAD}{before}\n.visible .entry tested({given}) {{\n{registers}\n{body}\nret;\n}}\n"


def run(
    text: str,
    *given: Any,
    grid: int = 1,
    block: int = 32,
    homes: dict[int, Home] | None = None,
    gpu: VirtualGpu | None = None,
    model: Model | None = None,
    name: str | None = None,
    **options: Any,
) -> Launched:
    """Run a kernel; arrays are changed in place, and lie where `homes` says, on the device unless it does."""
    gpu = gpu or VirtualGpu(model or Model(), Options(**{"most_steps": 1_000_000, **options}))
    parameters = [(one.ctypes.data if isinstance(one, np.ndarray) else int(one), 8) for one in given]
    regions = [
        Region(one.ctypes.data, one.nbytes, (homes or {}).get(place, Home.DEVICE))
        for place, one in enumerate(given)
        if isinstance(one, np.ndarray)
    ]
    return gpu.launch(translate(text, name, keep=False), (grid,), (block,), parameters, regions)


def aligned(elements: int) -> NDArray[np.uint32]:
    """Return zeros that begin where a page does."""
    whole = np.zeros(elements + 1024, np.uint32)
    return whole[-whole.ctypes.data % 4096 // 4 :][:elements]


GLOBAL_INDEX = """mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mad.lo.u32 %r0, %r1, %r2, %r0;
cvt.u64.u32 %d0, %r0;
"""
"""The thread's index in the grid, in %r0 and %d0."""
