"""Combinations as a command line names them: machines, numbers of theirs to change, systems, caches."""

from collections.abc import Iterator, Sequence
from itertools import product

from grapin.cache.settings import read_settings
from grapin.errors import InvalidArgument
from grapin.sim.machine import Machine
from grapin.sim.presets import find_machine
from grapin.sim.sweeping import Combination
from grapin.sim.systems import find_model_system


def combine(
    machines: Sequence[str],
    systems: Sequence[str],
    caches: Sequence[str | None] = (None,),
    settings: Sequence[str] = (),
) -> list[Combination]:
    """Return every combination in the order asked, machines first; a system without a cache comes once.

    >>> [one.machine.name for one in combine(["a5000"], ["bounded"], settings=["link.generation=4,5"])]
    ['a5000+link.generation=4', 'a5000+link.generation=5']
    """
    for cache in caches:
        if cache is not None:
            read_settings(cache, policy="none", edge_bytes=0)
    variants = [variant for name in machines for variant in _variants(find_machine(name.strip()), settings)]
    found = [find_model_system(name.strip()) for name in systems]
    return [
        Combination(system, machine, cache)
        for machine, system in product(variants, found)
        for cache in (caches if system.cache != "none" else (None,))
    ]


def _variants(machine: Machine, settings: Sequence[str]) -> Iterator[Machine]:
    """Yield the machine with every combination of the values given for its numbers."""
    names, values = [], []
    for setting in settings:
        name, equals, listed = setting.partition("=")
        if not equals or not listed:
            raise InvalidArgument(f"set={setting!r} must be NUMBER=VALUE, such as link.generation=5")
        names.append(name.strip())
        values.append([value.strip() for value in listed.split(",")])
    for chosen in product(*values):
        yield machine.with_settings(dict(zip(names, chosen, strict=True))) if names else machine
