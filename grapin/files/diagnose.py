"""Why a delimited file could not be parsed: every line is looked at until the first bad one is found.

It runs only after the quick parser has failed, so it may take its time.
"""

from typing import NoReturn

from grapin.errors import InvalidFile
from grapin.files.layout import NUMBER, WHOLE, Layout
from grapin.files.rows import Request
from grapin.files.text import LONGEST_ROW, numbered_rows

_INT64 = range(-(2**63), 2**63)


def diagnose(request: Request, layout: Layout, reason: str) -> NoReturn:
    """Raise `InvalidFile` naming the first bad line, or the parser's `reason` if every line seems good."""
    for number, line in numbered_rows(request, layout.prefixes, header=layout.header):
        problem = problem_of(layout, line)
        if problem is not None:
            request.refuse(f"line {number}", problem)
    raise InvalidFile(f"{request.path} must be a readable table, but: {' '.join(reason.split())}")


def problem_of(layout: Layout, line: bytes) -> str | None:
    """Say what is wrong with a row, or None."""
    if len(line) > LONGEST_ROW:
        return f"a row must be shorter than {LONGEST_ROW} bytes"
    fields = layout.split(line)
    if len(fields) != len(layout.roles):
        return f"a row must have {len(layout.roles)} columns, not {len(fields)}"
    for role, field in zip(layout.roles, fields, strict=True):
        problem = None if role == "-" else _field_problem(layout, role, field)
        if problem is not None:
            return problem
    return None


def _field_problem(layout: Layout, role: str, field: bytes) -> str | None:
    shown = repr(field.decode(errors="backslashreplace")[:40])
    if role in {"source", "target"}:
        return _text_problem(field, shown) if layout.text_ids else _id_problem(role, field, shown)
    if role == "change":
        return None if WHOLE.fullmatch(field) else f"the change {shown} must be 1 or -1"
    if role in {"weight", "time"} and not NUMBER.fullmatch(field):
        return f"the {role} {shown} must be a number"
    return None


def _id_problem(role: str, field: bytes, shown: str) -> str | None:
    if not WHOLE.fullmatch(field):
        return f"the {role} {shown} must be a whole number; ids='text' reads names"
    return (
        None
        if len(field) < 40 and int(field) in _INT64
        else f"the {role} {shown} must fit into 64 bits; ids='text' reads names"
    )


def _text_problem(field: bytes, shown: str) -> str | None:
    try:
        field.decode()
    except UnicodeDecodeError:
        return f"the name {shown} must be UTF-8 text"
    return None
