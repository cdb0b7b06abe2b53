"""Colours: one a system and one a part of the time, of a lightness that stands out from white and from black alike."""

from collections.abc import Iterable

_OURS = "#0b8f83"
_PUBLISHED = "#d1603d"
_OTHERS = ("#6b7fd7", "#b9852b", "#a05bb5", "#4d96c9", "#c2557f", "#7d8b3a", "#8a7f78")
_KNOWN = {"bounded": _OURS, "grapin": _PUBLISHED}

PART_COLOURS = {
    "link": "#4d7fb8",
    "device": "#6aa06b",
    "faults": "#c9583f",
    "host": "#c99a3b",
    "launches": "#8c8f98",
}
KIND_COLOURS = {
    "requests": "#4d7fb8",
    "cache loads": "#6aa06b",
    "cache patches": "#c99a3b",
    "copies": "#a05bb5",
    "migrations": "#c9583f",
}


def system_colours(systems: Iterable[str]) -> dict[str, str]:
    """Give each system one colour: the two that a report compares always the same, the others in their order."""
    systems = list(systems)
    others = [system for system in systems if system not in _KNOWN]
    given = {system: _OTHERS[place % len(_OTHERS)] for place, system in enumerate(others)}
    return {system: (_KNOWN | given)[system] for system in systems}
