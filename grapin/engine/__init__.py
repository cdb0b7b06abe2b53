"""The engine: answers kept fresh while batches change the graph."""

from grapin.counters import QueryReport, Report
from grapin.engine.answer import Answer
from grapin.engine.engine import Engine

__all__ = ["Answer", "Engine", "QueryReport", "Report"]
