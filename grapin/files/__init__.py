"""Graphs in: every file format as one `EdgeList`.

A file passes through four steps, one or two modules each:

- `source` undoes the compression; `recognise` tells the format from name and content;
- a reader per format (`delimited`, `konect`, `dimacs`, `matrix_market`, `parquet`, `npz`) yields `Rows`;
- `ids` and `numbers` turn those into dense int32 vertices and checked weights and times;
- `repeats` counts, drops or merges self loops and repeated edges.
"""

from grapin.files.read import load_edges

__all__ = ["load_edges"]
