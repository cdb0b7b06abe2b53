"""Accumulative programs on a GPU."""
