"""What a run did, as a table for people and as one JSON object for programs."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from grapin import __version__
from grapin.cli.tables import print_table
from grapin.counters import Counters
from grapin.engine import Engine, Report
from grapin.programs.program import Monotone
from grapin.units import format_bytes, format_count, format_seconds

_COLUMNS = (
    "batch",
    "inserted",
    "deleted",
    "ignored",
    "update",
    "compute",
    "changed",
    "edges read",
    "of all",
)


@dataclass(frozen=True, eq=False)
class Outcome:
    """A run of one program, complete or up to where it was interrupted."""

    origin: str
    engine: Engine
    reports: list[Report]
    edges: list[int]
    """Edges in the graph at the start, then after each batch."""
    seed: int
    verified: bool | None
    """None when nobody asked."""

    def record(self) -> dict[str, Any]:
        """Return plain numbers; `graph` is as the last batch left it."""
        engine, started = self.engine, self.engine.started
        return {
            "grapin": __version__,
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "origin": self.origin,
            "program": engine.answers[0].program.name,
            "sources": self._sources(),
            "system": engine.system.name,
            "device": engine.device,
            "threads": engine.threads,
            "cache": engine.cache,
            "seed": self.seed,
            "graph": {"vertices": engine.graph.vertices, "edges": engine.graph.edges},
            "initial": {"seconds": started.compute_seconds} | started.record(),
            "batches": [report.record() for report in self.reports],
            "verified": self.verified,
        }

    def print(self) -> None:
        """Print one row for the start and one a batch."""
        names = ["start", *(str(number) for number in range(1, len(self.reports) + 1))]
        reports = [self.engine.started, *self.reports]
        print_table(
            self._title(),
            (*_COLUMNS, "pages" if self._paged else "bytes"),
            [
                (*_row(*row), self._moved(row[1].counters))
                for row in zip(names, reports, self.edges, strict=True)
            ],
        )

    @property
    def _paged(self) -> bool:
        return self.engine.system.transfer == "unified"

    def _moved(self, counters: Counters) -> str:
        """Return what crossed the link, or what was touched where the device's memory decides what crosses."""
        return format_count(counters.pages) if self._paged else format_bytes(counters.link_bytes)

    def _sources(self) -> list[str]:
        """Return the vertices that values start from, as the file names them; none where all do."""
        program, labels = self.engine.answers[0].program, self.engine.graph.labels
        sources = list(program.sources) if isinstance(program, Monotone) else []
        return [str(vertex if labels is None else labels.name(vertex)) for vertex in sources]

    def _title(self) -> str:
        engine = self.engine
        program, graph = engine.answers[0].program, engine.graph
        names = self._sources()
        return (
            f"{program.name}{' from ' if names else ''}{', '.join(names)} on {self.origin}: "
            f"{format_count(graph.vertices)} vertices, {format_count(graph.edges)} edges at the end; "
            f"system {engine.system.name}, device {engine.device}"
        )


def _row(name: str, report: Report, edges: int) -> tuple[str, ...]:
    return (
        name,
        format_count(report.inserted),
        format_count(report.deleted),
        format_count(report.ignored),
        format_seconds(report.update_seconds),
        format_seconds(report.compute_seconds),
        format_count(report.changed),
        format_count(report.edges_read),
        f"{report.edges_read / max(1, edges):.4f}",
    )
