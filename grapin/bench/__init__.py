"""Benchmarks of graphs that change: suites, timing behind a correctness gate, records, and comparisons of records.

`grapin bench` is the way in; `docs/benchmark.md` says how times are taken and when a difference counts.
"""
