"""The hot-subgraph cache: which lists a device keeps a copy of, where, and what keeping it costs."""
