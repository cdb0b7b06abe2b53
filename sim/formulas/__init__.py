"""What other systems' papers say their transfers cost, as formulas over the lists that one iteration reads.

| file | what it is |
|---|---|
| `partitions.py` | the edge array in stretches, and what is active in each; whole partitions as the simplest system |
| `hytgraph.py` | HyTGraph: equations 1 to 3, its selection rule, and the other rule that its released code has |
| `subway.py` | Subway: active lists gathered by the host, what that moves and costs, and when it is not worth it |
"""
