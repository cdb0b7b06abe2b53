"""The engine: answers kept fresh while batches change the graph."""

from grapin.engine.answer import Answer, QueryReport, Report
from grapin.engine.engine import Engine

__all__ = ["Answer", "Engine", "QueryReport", "Report"]
