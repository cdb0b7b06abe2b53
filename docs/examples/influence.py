"""How much of what the sources have arrives at each vertex: an accumulative program of one's own."""

import grapin


class Influence(grapin.Accumulative):
    """How much of what the sources have arrives: every vertex passes half of it on, in equal parts."""

    name = "influence"
    sourced = True

    def share(self, degree, total):
        """Return what each edge gets of one unit."""
        return 0.5 / total
