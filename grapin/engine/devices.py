"""Devices by name: what can execute programs, and whether it can here."""

from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import cast

from grapin.errors import DeviceUnavailable, InvalidArgument
from grapin.user_code import is_user_code, load_user_code
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
_NEEDED = ("name", "unavailable", "query")


def device(name: str) -> Device:
    """Return the device of this name, or the one in `FILE.py` (or `FILE.py:NAME`), whether or not it can be used."""
    if is_user_code(name):
        return _own_device(name, str(Path.cwd()))
    return cast("Device", import_module(DEVICES[check_choice("device", name, DEVICES)]))


def open_device(name: str) -> Device:
    """Return a usable device; `auto` takes the fastest there is."""
    if name == "auto":
        return next(found for found in map(device, _PREFERRED) if found.unavailable() is None)
    if not is_user_code(name):
        check_choice("device", name, (*DEVICES, "auto"))
    found = device(name)
    reason = found.unavailable()
    if reason is not None:
        raise DeviceUnavailable(f"device={name!r} cannot be used here: {reason}")
    return found


@lru_cache
def _own_device(name: str, _folder: str) -> Device:
    """Run a file once in a process, like a module; a relative path depends on the folder."""
    found = load_user_code("device", name)
    missing = [attribute for attribute in _NEEDED if not hasattr(found, attribute)]
    if missing:
        raise InvalidArgument(
            f"device={name!r} must have the names of grapin.work.Device: there is no {', no '.join(missing)}"
        )
    return cast("Device", found)
