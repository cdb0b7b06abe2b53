"""Monotone programs on the CPU, in the order of a batch: correct, pull, forward; or a sweep over all."""
