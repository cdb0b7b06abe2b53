"""Devices: the compiled code that executes programs, one file per device and concern."""
