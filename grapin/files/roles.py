"""What each column of a delimited file or table means: source, target, weight, time.

Names in a header (or in the comment line before the first row) decide. Without names, two columns are source
and target, a fourth is a time, and a third is a weight, or a time if the file's name contains `temporal` or
all sampled values are whole numbers of at least 10^9, which reads as seconds since 1970.
"""

import re
from collections.abc import Sequence

from grapin.errors import InvalidArgument
from grapin.files.rows import ROLES, Request
from grapin.files.source import plain_name

_SYNONYMS = {
    "source": "source src from fromnode fromnodeid fromid sourceid sourcenode u tail start node1 i",
    "target": "target tgt to tonode tonodeid toid targetid targetnode dst destination v head end node2 j",
    "weight": "weight weights w rating value cost distance length capacity score sign",
    "time": "time times timestamp t ts date unixtime unixts",
    "change": "change",
}
_ROLES = {name: role for role, names in _SYNONYMS.items() for name in names.split()}
_EARLIEST_UNIX_TIME = 10**9

SAY = "say what they mean, such as columns='source,target,-,weight'"
"""What to do where a file does not tell."""


def roles_of_names(names: Sequence[str]) -> tuple[str, ...] | None:
    """Tell the columns' roles from their names; None when source or target are not among them."""
    roles: list[str] = []
    for name in names:
        role = _ROLES.get(re.sub(r"[^a-z0-9]", "", name.lower()), "-")
        roles.append("-" if role in roles else role)
    return tuple(roles) if {"source", "target"} <= set(roles) else None


def roles_of_width(request: Request, width: int, third: Sequence[bytes]) -> tuple[str, ...] | None:
    """Tell the columns' roles from their number and a sample of the third; None when there are too many."""
    if width == 2:
        return ("source", "target")
    if width == 3:
        return ("source", "target", "time" if _are_times(request, third) else "weight")
    return ("source", "target", "weight", "time") if width == 4 else None


def check_columns(columns: Sequence[str] | str | None) -> tuple[str, ...] | None:
    """Check the roles a user gave, in a sequence or between commas, or pass on None."""
    if columns is None:
        return None
    roles = tuple(part.strip() for part in columns.split(",")) if isinstance(columns, str) else tuple(columns)
    named = [role for role in roles if role != "-"]
    if not set(roles) <= set(ROLES) or len(set(named)) < len(named) or not {"source", "target"} <= set(named):
        raise InvalidArgument(
            f"columns={columns!r} must name each column of the file in order, source and target once each,"
            " weight, time and change at most once, and '-' for columns to ignore"
        )
    return roles


def _are_times(request: Request, values: Sequence[bytes]) -> bool:
    if "temporal" in plain_name(request.path):
        return True
    return bool(values) and all(value.isdigit() and float(value) >= _EARLIEST_UNIX_TIME for value in values)
