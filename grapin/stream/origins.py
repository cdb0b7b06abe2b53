"""What streams are made from: rows that were read already, or the name of a file or a generator."""

import os
from typing import Any

from grapin.edges import EdgeList
from grapin.errors import InvalidArgument
from grapin.files import load_edges
from grapin.generators import generate, is_specification

Origin = EdgeList | str | os.PathLike[str]
"""Rows, a path that `load_edges` reads, or a specification that `generate` knows."""


def read_origin(origin: Any) -> EdgeList:
    """Return the rows that are meant, or say what would do."""
    if isinstance(origin, EdgeList):
        return origin
    if isinstance(origin, str) and is_specification(origin):
        return generate(origin)
    if isinstance(origin, (str, os.PathLike)):
        return load_edges(origin)
    raise InvalidArgument(
        f"edges={origin!r:.60} must be a path, or rows as grapin.load_edges reads them: a graph keeps no times "
        "(grapin.stream.sample draws batches from one)"
    )
