# noqa: INP001 - a script beside its figure, not a package
"""Draw how many edges each batch read, from the records of several runs of one stream.

    grapin run rmat:18:16 --batch-size 3800 --seed 1 --system bounded --json bounded.json
    grapin run rmat:18:16 --batch-size 3800 --seed 1 --system grapin-zc --json grapin-zc.json
    python docs/figures/edges_read.py docs/figures/edges_read.svg bounded.json grapin-zc.json

One line per run, and one for the edges that the changes affect; the scale is logarithmic.
"""

import argparse
import json
from dataclasses import dataclass
from math import floor, log10
from pathlib import Path
from typing import Any

WIDTH, HEIGHT = 640, 280
LEFT, RIGHT, TOP, BOTTOM = 60, 130, 34, 36
LINE_HEIGHT = 15
COLOURS = ("#0b6e4f", "#c1121f", "#7209b7", "#555555")


@dataclass(frozen=True)
class Line:
    """One run: a name, and the part of the graph's edges that each batch read."""

    name: str
    parts: list[float]


def lines(records: list[dict[str, Any]]) -> list[Line]:
    """Return a line per record, and one for the affected edges, which are the same for all of them."""
    found = [Line(record["system"], _parts(record, "edges_read")) for record in records]
    return [*found, Line("affected", _parts(records[0], "affected_edges"))]


def _parts(record: dict[str, Any], field: str) -> list[float]:
    return [batch[field] / record["graph"]["edges"] for batch in record["batches"]]


def drawing(title: str, drawn: list[Line]) -> str:
    """Return the figure as SVG."""
    lowest = floor(min(log10(part) for line in drawn for part in line.parts if part))
    highest = max(0.0, *(log10(part) for line in drawn for part in line.parts if part))
    count = max(len(line.parts) for line in drawn)

    def across(batch: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * batch / max(1, count - 1)

    def down(part: float) -> float:
        height = log10(part) if part else lowest
        return TOP + (HEIGHT - TOP - BOTTOM) * (highest - height) / (highest - lowest)

    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
    parts = [
        f'{head} font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="18" font-weight="bold">{title}</text>',
    ]
    for power in range(lowest, floor(highest) + 1):
        y = down(10.0**power)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    parts += [
        f'<text x="{across(batch):.1f}" y="{HEIGHT - 18}" text-anchor="middle">{batch + 1}</text>'
        for batch in range(count)
    ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 3}" text-anchor="middle">batch</text>')
    label = float(TOP - LINE_HEIGHT)
    for line, colour in sorted(
        zip(drawn, COLOURS, strict=False), key=lambda pair: pair[0].parts[-1], reverse=True
    ):
        points = " ".join(f"{across(batch):.1f},{down(part):.1f}" for batch, part in enumerate(line.parts))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        label = max(label + LINE_HEIGHT, down(line.parts[-1]) + 4)
        parts.append(f'<text x="{WIDTH - RIGHT + 8}" y="{label:.1f}" fill="{colour}">{line.name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """Read the records and write the figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("figure", type=Path)
    parser.add_argument("records", type=Path, nargs="+")
    arguments = parser.parse_args()
    records = [json.loads(file.read_text()) for file in arguments.records]
    edges = records[0]["graph"]["edges"]
    title = f"{records[0]['program']}, {edges:,} edges: edges read a batch, as a part of all"
    arguments.figure.write_text(drawing(title, lines(records)))


if __name__ == "__main__":
    main()
