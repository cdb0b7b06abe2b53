"""Reports: what a run did and what it would cost elsewhere, as one HTML file that needs no server and no network."""

from grapin.report.findings import Crossing, Findings
from grapin.report.page import check_report, embed, render

__all__ = ["Crossing", "Findings", "check_report", "embed", "render"]
