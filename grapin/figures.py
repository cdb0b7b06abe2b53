"""Figures: the numbers a machine is made of, each with its unit and with where it comes from.

A number stays a plain number, so that formulas read as formulas; its source stands beside it, under the same name, in
`sources`. A number that has none is shown as such wherever it is shown.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, Self

from grapin.errors import InvalidArgument
from grapin.units import format_bytes, format_rate, format_seconds, parse_bytes, parse_rate, parse_seconds
from grapin.validation import check_choice, check_integer, refuse

NO_SOURCE = "no source"
"""How the source of a number begins that nobody published; what follows says why it has this value."""

Unit = Literal["", "bytes", "bytes/s", "seconds", "share"]


def _parse_share(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


_READ: dict[Unit, Callable[[str], Any]] = {
    "": lambda text: int(text) if text.strip().isdecimal() else text,
    "bytes": parse_bytes,
    "bytes/s": parse_rate,
    "seconds": parse_seconds,
    "share": _parse_share,
}
_WRITE: dict[Unit, Callable[[Any], str]] = {
    "": str,
    "bytes": format_bytes,
    "bytes/s": format_rate,
    "seconds": format_seconds,
    "share": "{:.4g}".format,
}
_MUST: dict[Unit, str] = {
    "": "be a whole number of at least 1",
    "bytes": "be a size of at least 1 byte, such as 512 or 16G",
    "bytes/s": "be a rate from 1 B/s to 10^18 B/s, such as 900GB/s",
    "seconds": "be a time from 10^-15 s to 10 s, such as 1.7us",
    "share": "be a share from 10^-6 to 1, such as 0.9",
}
_BOUNDS: dict[Unit, tuple[float, float]] = {
    "": (1, 2**24),
    "bytes": (1, 2**56),
    "bytes/s": (1, 1e18),
    "seconds": (1e-15, 10),
    "share": (1e-6, 1),
}
"""Beyond what any machine is, and within what times in whole femtoseconds can count."""


@dataclass(frozen=True)
class Figure:
    """One number of a machine as it is shown."""

    name: str
    """The dotted name by which it is set: `link.round_trip`."""
    value: float
    unit: Unit
    source: str

    @property
    def sourced(self) -> bool:
        """Whether somebody published or measured it."""
        return not self.source.startswith(NO_SOURCE)

    @property
    def text(self) -> str:
        """The value as people write it."""
        return _WRITE[self.unit](self.value)


def figure(unit: Unit = "", default: Any = MISSING) -> Any:
    """Declare a number of a part: a whole number without a unit, whole bytes, a share, or a positive rate or time.

    One that has a default may be left out of a machine's file.
    """
    return field(default=default, metadata={"unit": unit})


@dataclass(frozen=True, kw_only=True)
class Part:
    """A link, a GPU or a host: numbers and their sources. Two parts are equal when their numbers are."""

    sources: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """Where each number comes from, by its name."""

    role: ClassVar[str]
    """What the part is of a machine, and the first half of its figures' names."""

    def __post_init__(self) -> None:
        for one in self.figures():
            _check(one)

    def figures(self) -> Iterator[Figure]:
        """Yield every number with its source."""
        for name, unit in units_of(self).items():
            source = self.sources.get(name, NO_SOURCE)
            yield Figure(f"{self.role}.{name}", getattr(self, name), unit, source)

    def with_settings(self, settings: Mapping[str, object], source: str) -> Self:
        """Return this part with some numbers changed; a text is read in its number's unit."""
        units = units_of(self)
        changes = {}
        for name, value in settings.items():
            check_choice(f"setting of the {self.role}", name, units)
            try:
                changes[name] = _READ[units[name]](value) if isinstance(value, str) else value
            except InvalidArgument:
                refuse(f"{self.role}.{name}", value, _MUST[units[name]])
        sources = {**self.sources, **dict.fromkeys(settings, source)}
        return replace(self, **changes, sources=sources)


def units_of(part: Part) -> dict[str, Unit]:
    """Return the unit of each number of a part, by its name."""
    return {one.name: one.metadata["unit"] for one in fields(part) if "unit" in one.metadata}


def _check(one: Figure) -> None:
    value: Any = one.value
    least, most = _BOUNDS[one.unit]
    if one.unit in ("", "bytes"):
        check_integer(one.name, value, least=1, most=int(most))
    elif isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        refuse(one.name, value, _MUST[one.unit])
