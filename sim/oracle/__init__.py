"""The event model: single requests on their way, in SimPy.

| file | what it is |
|---|---|
| `events.py` | the GPU's port: a read's way through tags, credits, wire and host memory, and a write's |
| `zero_copy.py` | a trace's iterations, one after the other, their lists dealt out to warps; large copies, by pages |
| `driver.py` | what the driver of unified memory does about faults, in sets and dictionaries |
| `paging.py` | when it does so |

Everything passes the stations in the order in which it was sent, as PCIe reads of one device do. Time is SimPy's clock,
in the femtoseconds of `grapin.sim.path`.
"""
