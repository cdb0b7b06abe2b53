"""`grapin doctor`: which devices there are here and, for those that cannot be used, why and what to do."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

import click

from grapin import __version__
from grapin.cli.tables import print_table
from grapin.engine.devices import DEVICES, device, open_device
from grapin.systems import SYSTEMS

_LIBRARIES = ("numpy", "numba", "pyarrow", "zstandard", "scipy", "networkx", "hypothesis")


@click.command()
def command() -> None:
    """Show what is available on this machine."""
    print_table(
        f"grapin {__version__}, Python {platform.python_version()}, {sys.platform}, {os.cpu_count()} cores",
        ("device", "here", "remedy"),
        [_device_row(name) for name in DEVICES],
    )
    click.echo(f"device auto is {open_device('auto').name}")
    print_table("systems", ("name", "what it does"), [(s.name, s.summary) for s in SYSTEMS.values()])
    print_table("libraries", ("name", "version"), [(name, _version(name)) for name in _LIBRARIES])


def _device_row(name: str) -> tuple[str, str, str]:
    reason = device(name).unavailable()
    return (name, "yes", "") if reason is None else (name, "no", reason)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
