# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML page: it needs no network, and prints."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader
from plotly.offline import get_plotlyjs

from sallyport.report import cells, settings
from sallyport.report.columns import sheet
from sallyport.report.kinds import by_test, kind, note, reasons, verdict, verdict_of_all
from sallyport.report.plots import plots
from sallyport.report.provenance import calibration, provenance
from sallyport.report.published import comparison
from sallyport.report.summary import failed, headline, reasons_of

MOST_REASONS = 6  # at the top of the page; each section has all of its own


def html(rows: list[dict], command: str | None = None) -> str:
    """The page of rows of any tests; `command` is what made them, if it is not the arguments of
    this process."""
    tests = by_test(rows)
    # Histograms show the loads of the latency test, or the throughput test's result if no latency
    # test ran.
    histograms_of = "latency" if "latency" in tests else "throughput"
    sections = [
        _section(number, test, mine, test == histograms_of) for number, (test, mine) in enumerate(tests.items(), 1)
    ]
    environment = Environment(loader=PackageLoader("sallyport"), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("report.html.j2").render(
        subject=settings.describe(rows) if rows else "no rows",
        origin=settings.origin(rows),
        result=cells.result(verdict_of_all(rows)),
        failed=failed(rows),
        reasons=_reasons(rows),
        calibration=calibration(rows),
        published=comparison(rows),
        sections=sections,
        provenance=provenance(rows, command),
        # The package has the full bundle alone (4.8 MB). The basic one (1.1 MB) is on npm and in no
        # Python package, so every machine that sets up would need npm for one file.
        plotly=get_plotlyjs(),
    )


def _section(number: int, test: str, rows: list[dict], with_histograms: bool) -> dict:
    return {
        "id": test,
        "kind": kind(test),
        "subject": settings.describe(rows),
        "origin": settings.origin(rows),
        "headline": headline(rows),
        "result": cells.result(verdict_of_all(rows)),
        "sheet": sheet(test, rows),
        "reasons": reasons_of(rows),
        "note": note(rows),
        "plots": plots(test, rows, number, with_histograms),
    }


def _reasons(rows: list[dict]) -> list[str]:
    """Why rows failed, each reason once with the first row that has it."""
    found: dict[str, str] = {}
    for row in rows:
        for text in reasons(row) if verdict(row) is False else []:
            found.setdefault(text, f"{kind(row['test']).title}, {_of(row)}: {text}")
    return list(found.values())[:MOST_REASONS]


def _of(row: dict) -> str:
    """Which row of a table is meant."""
    return row.get("figure_name") or f"{cells.sized(row)} at {cells.percent(row['load_pct'])} % of line rate"
