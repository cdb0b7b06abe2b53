"""A device of your own with a bug in it: when a batch does nothing but re-weight edges, it overlooks that."""

from grapin.counters import Work
from grapin.reference import device as reference

name = "forgetful"
unavailable = reference.unavailable


def query(program, system, **options):
    """Prepare one program: that of the reference, between us and which batches get lost."""
    return Forgetful(reference.query(program, system, **options))


class Forgetful:
    """A query that takes a batch without new or lost edges and vertices for one that changes nothing."""

    def __init__(self, query):
        self._query = query

    def __getattr__(self, attribute):
        return getattr(self._query, attribute)

    def repair(self, snapshot, applied, *, tracing):
        """Bring the values up to date, or so it thinks."""
        came, went = applied.inserted, applied.deleted
        if len(came) or len(went) or len(applied.inserted_vertices) or len(applied.deleted_vertices):
            return self._query.repair(snapshot, applied, tracing=tracing)
        return Work()
