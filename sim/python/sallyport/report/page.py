"""The report as one HTML page: it needs no network, and prints."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader
from plotly.offline import get_plotlyjs

from sallyport.report import cells, settings
from sallyport.report.columns import sheet
from sallyport.report.kinds import by_test, kind, note, reasons, verdict_of_all
from sallyport.report.plots import plots
from sallyport.report.provenance import provenance
from sallyport.report.summary import failed, headline


def html(rows: list[dict], command: str | None = None) -> str:
    """The page of rows of any tests; `command` is what made them, if it is not the arguments of this process."""
    tests = by_test(rows)
    # Of the loads of the latency test, or of the throughput found where there is none.
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
        sections=sections,
        provenance=provenance(rows, command),
        # The package has one bundle for pages, the full one (4.8 MB); a smaller one would be another dependency to keep in step.
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
        "reasons": [(_of(row), text) for row in rows for text in reasons(row)],
        "note": note(rows),
        "plots": plots(test, rows, number, with_histograms),
    }


def _of(row: dict) -> str:
    """Which row of a table is meant."""
    return f"{cells.sized(row)} at {cells.percent(row['load_pct'])} % of line rate"
