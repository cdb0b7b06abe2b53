"""Measurements: each module runs as `python -m experiments.NAME` and says what it found."""
