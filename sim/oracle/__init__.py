"""The event model: single requests on their way, in SimPy.

| file | what it is |
|---|---|
| `pool.py` | tags and credits: so many, handed out in the order they are asked for |
| `wire.py` | one direction of the link: packets leave one after the other |
| `memory.py` | host memory: takes reads up one after the other, answers after its latency |
| `port.py` | the GPU's port: a read's way through all of them, and a write's |
| `issue.py` | workers that each wait for what they asked for: warps, the copy engine's steps |
| `copy_engine.py` | large copies, in steps of a page, over the same port |
| `replay.py` | a trace's iterations, one after the other, their lists dealt out to warps |

Everything passes the stations in the order in which it was sent, as PCIe reads of one device do. Time is SimPy's clock,
in the femtoseconds of `grapin.sim.path`.
"""
