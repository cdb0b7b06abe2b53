"""KONECT's `out.*` files: `% asym positive` first, then rows `source target [weight [time]]`, ids from 1.

The first word says how edges run (`sym`, `asym`, or `bip` for two sides that are numbered apart), the second
what the third column means; in `dynamic` files it is +1 for an edge that appears and -1 for one that goes.

What the vertices are called stands in a file `ent.*` of the same name beside it: one name per line, in the order of the
ids, or behind its id and a tab.
"""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as arrow

from grapin.edges import MOST_VERTICES
from grapin.errors import InvalidFile
from grapin.files.delimited import comment_prefixes, empty_rows, read_table, rows_of_table
from grapin.files.layout import GUESSED, UNNAMED, check_columns, tell_layout
from grapin.files.rows import Request, Rows, Survey, count_of, first_row, survey
from grapin.files.source import SUFFIXES, Source

_NUMBERED = re.compile("([0-9]{1,18})\t(.*)")
_THIRD = {"unweighted": "-", "dynamic": "change"}


def read_konect(request: Request) -> Rows:
    """Read a KONECT edge file; two-sided graphs get their right side numbered after the left one."""
    prefixes = comment_prefixes(request, (b"%",))
    sample = survey(request, prefixes)
    form, meaning = _header(sample)
    sizes = _sizes(sample)
    directed = form == "asym"
    if not sample.lines:
        return empty_rows(directed=directed, declared=sum(sizes), numbered=True)
    given = check_columns(request.columns)
    roles = given or _roles(sample, meaning or "weighted")
    layout = tell_layout(request, sample, prefixes, quoted=False, roles=roles)
    if layout.header or layout.text_ids:
        request.refuse(f"line {sample.first}", "rows must begin with two whole numbers")
    rows = rows_of_table(request, layout, read_table(request, layout))
    notes = _taken(roles, meaning) if given is None else ()
    rows = replace(rows, directed=directed, first=1, numbered=True, notes=notes)
    if form == "bip":
        return _join_sides(request, rows, sizes)
    names, reason = vertex_names(request)
    unnamed = (f"{UNNAMED} {reason}.",) if reason else ()
    return replace(rows, declared=sizes[0] if sizes else None, names=names, notes=(*rows.notes, *unnamed))


def vertex_names(request: Request) -> tuple[list[str], str]:
    """Return the names in the file that goes with this one, or why they cannot be used; neither where there is none."""
    file = _beside(request.path)
    if file is None:
        return [], ""
    try:
        with Source(file, lambda _: None) as source:
            lines = source.read().decode().splitlines()
    except UnicodeDecodeError:
        return [], f"{file.name} is not UTF-8"
    except InvalidFile as error:
        return [], str(error)
    names = [line for line in lines if not line.startswith("%")]
    numbered = [_NUMBERED.fullmatch(name) for name in names]
    if all(match is not None and int(match[1]) == place for place, match in enumerate(numbered, 1)):
        names = [match[2] for match in numbered if match is not None]
    twice, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        return [], f"{file.name} has the name {twice!r:.60} {count} times"
    if "" in names:
        return [], f"{file.name} has no name for vertex {names.index('') + 1}"
    return names, ""


def _beside(path: Path) -> Path | None:
    """Return the file of names of the same data set, compressed or not."""
    if not path.name.startswith("out."):
        return None
    stem = path.name.removeprefix("out.").removesuffix(path.suffix if path.suffix in SUFFIXES else "")
    files = (path.with_name(f"ent.{stem}{ending}") for ending in ("", *SUFFIXES))
    return next((file for file in files if file.is_file()), None)


def _header(sample: Survey) -> tuple[str, str]:
    words = sample.comments[0].lstrip("% ").split() if sample.comments else []
    return words[0] if words else "asym", words[1] if len(words) > 1 else ""


def _taken(roles: tuple[str, ...], meaning: str) -> tuple[str, ...]:
    """Say what the third column was taken for: the format has a place for it, but two meanings."""
    if len(roles) < 3:
        return ()
    times = roles[3:]
    taken = {
        "change": "taken for changes (1 for an edge that comes, -1 for one that goes)",
        "weight": "taken for weights",
        "-": "ignored",
    }[roles[2]]
    other = {"weight": "change"}.get(roles[2], "weight")
    fourth = ", and the fourth for times" if times else ""
    reason = f"as the header says {meaning}" if meaning else "as the header does not say"
    columns = ",".join(("source", "target", other, *times))
    return (f"{GUESSED} {taken}{fourth}, {reason}; columns={columns!r} takes it for {other}s.",)


def _roles(sample: Survey, meaning: str) -> tuple[str, ...]:
    width = len(sample.lines[0].split())
    return ("source", "target", _THIRD.get(meaning, "weight"), "time")[: max(width, 2)]


def _sizes(sample: Survey) -> list[int]:
    """Return the vertices of each side from the second comment, `% EDGES LEFT RIGHT`, where there is one."""
    words = sample.comments[1].lstrip("% ").split() if len(sample.comments) > 1 else []
    sizes = [count_of(word) for word in words[1:3]]
    return [] if None in sizes else [size for size in sizes if size is not None]


def _join_sides(request: Request, rows: Rows, sizes: list[int]) -> Rows:
    row = first_row(rows.target, lambda ids: (ids < 1) | (ids >= MOST_VERTICES))
    if row is not None:
        request.refuse(
            rows.locate(row), f"the target {rows.target[row]} must be from 1 to {MOST_VERTICES - 1}"
        )
    left, right = (
        max(size, arrow.max(column).as_py())
        for size, column in zip([*sizes, 0, 0], (rows.source, rows.target), strict=False)
    )
    moved = pa.chunked_array([chunk.to_numpy() + np.int64(left) for chunk in rows.target.chunks], pa.int64())
    note = (
        f"The graph has two sides: vertices 0 to {left - 1:,} are the left one, {left:,} and above the right."
    )
    return replace(rows, target=moved, declared=left + right, notes=(*rows.notes, note))
