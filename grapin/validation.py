"""How arguments are checked and refused: one wording, `name=value must ...`, in one place."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, NoReturn

import numpy as np

from grapin.errors import GrapinError, InvalidArgument


def refuse(name: str, value: object, must: str, error: type[GrapinError] = InvalidArgument) -> NoReturn:
    """Raise `error` saying that the argument `name` with this value must be something else."""
    raise error(f"{name}={value!r} must {must}")


def check_integer(name: str, value: Any, *, least: int | None = None, most: int | None = None) -> int:
    """Return `value` as an int between `least` and `most`, or refuse it; True and 1.5 are not integers."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        refuse(name, value, "be a whole number")
    try:
        number = int(value.__index__())
    except TypeError:  # an array has the method, and only some can use it
        refuse(name, value, "be a whole number")
    if least is not None and number < least:
        refuse(name, number, f"be at least {least}")
    if most is not None and number > most:
        refuse(name, number, f"be at most {most}")
    return number


def is_number(value: Any) -> bool:
    """Tell whether a value is a number, of Python or of NumPy; True is none."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def check_fraction(name: str, value: Any) -> float:
    """Return `value` as a float from 0 to 1, or refuse it."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0:
        refuse(name, value, "be a number from 0 to 1")
    return float(value)


def check_choice(name: str, value: str, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`; otherwise refuse it and suggest the nearest name."""
    known = sorted(choices)
    if value in known:
        return value
    refuse(name, value, f"be one of {', '.join(known)}{nearest(value, known)}")


def nearest(value: str, choices: Iterable[str], likeness: float = 0.6) -> str:
    """Return a suggestion in brackets, to end a sentence with; nothing where no choice is as near as that."""
    known = list(choices)
    alike = [one for one in known if one.lower() == str(value).lower()]
    found = alike or get_close_matches(str(value), known, n=1, cutoff=likeness)
    return f" (did you mean {found[0]!r}?)" if found else ""
