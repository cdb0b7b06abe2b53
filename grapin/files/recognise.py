"""Which format a file has: its content decides where it can, its name where it must."""

import re

from grapin.errors import InvalidFile

FORMATS = ("snap", "csv", "matrix-market", "dimacs", "konect", "parquet", "npz")

_CONTENTS = (
    ("parquet", re.compile(rb"PAR1")),
    ("npz", re.compile(rb"PK(?:\x03\x04|\x05\x06)")),
    ("matrix-market", re.compile(rb"%%MatrixMarket", re.IGNORECASE)),
    ("konect", re.compile(rb"%\s*(?:sym|asym|bip)\b")),
    ("dimacs", re.compile(rb"(?:c(?:[ \t][^\n]*)?\r?\n|\s*\n)*p[ \t]+[a-z]+[ \t]+\d")),
)
_NAMES = (
    ("parquet", re.compile(r".*\.(?:parquet|pq)")),
    ("npz", re.compile(r".*\.npz")),
    ("matrix-market", re.compile(r".*\.mtx")),
    ("dimacs", re.compile(r".*\.gr")),
    ("konect", re.compile(r"out\..*")),
    ("csv", re.compile(r".*\.csv")),
)
_FIRST_ROW = re.compile(rb"(?:[ \t]*(?:[#%][^\n]*)?\r?\n)*([^\n]*)")
_SELF_EVIDENT = {"parquet", "npz", "matrix-market"}
"""Formats that begin with a signature: without it, a file of that name is something else."""


def recognise(path: object, name: str, head: bytes) -> str:
    """Return the format of a file with this (uncompressed) name and these first bytes."""
    for kind, signature in _CONTENTS:
        if signature.match(head):
            return kind
    named = next((kind for kind, pattern in _NAMES if pattern.fullmatch(name)), None)
    if named in _SELF_EVIDENT:
        raise InvalidFile(f"{path} must hold {named} data, as its name says, but does not")
    return named or _delimited_kind(head)


def _delimited_kind(head: bytes) -> str:
    row = _FIRST_ROW.match(head)
    return "csv" if row is not None and re.search(rb"[,;]", row[1]) else "snap"
