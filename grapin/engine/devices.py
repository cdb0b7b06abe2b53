"""Devices by name: what can execute programs, and whether it can here."""

from importlib import import_module
from typing import cast

from grapin.errors import DeviceUnavailable
from grapin.validation import check_choice
from grapin.work import Device

DEVICES = {
    "cuda": "grapin.kernels.cuda.device",
    "cpu": "grapin.kernels.cpu.device",
    "cudasim": "grapin.kernels.cuda.simulated",
    "reference": "grapin.reference.device",
}
"""Where each device lives; a new one is one module with the names of `grapin.work.Device`."""
_PREFERRED = ("cuda", "cpu")


def device(name: str) -> Device:
    """Return the device of this name, whether or not it can be used here."""
    return cast("Device", import_module(DEVICES[check_choice("device", name, DEVICES)]))


def open_device(name: str) -> Device:
    """Return a usable device; `auto` takes the fastest there is."""
    if name == "auto":
        return next(found for found in map(device, _PREFERRED) if found.unavailable() is None)
    found = device(check_choice("device", name, (*DEVICES, "auto")))
    reason = found.unavailable()
    if reason is not None:
        raise DeviceUnavailable(f"device={name!r} cannot be used here: {reason}")
    return found
