"""A program of your own: the path on which a message is most likely to arrive."""

from grapin import Monotone


class MostReliablePath(Monotone):
    """Edge weights are the probabilities (0 to 1) that a hop succeeds; a path succeeds if every hop does."""

    name = "most-reliable-path"
    values = "float"
    better = "larger"
    source_value = 1.0

    @staticmethod
    def edge(value, weight):
        """What is left of the chance after one more hop."""
        return value * weight
