"""The engine: answers kept fresh while batches change the graph."""

from grapin.engine.answer import Answer
from grapin.engine.engine import Engine
from grapin.engine.report import QueryReport, Report

__all__ = ["Answer", "Engine", "QueryReport", "Report"]
