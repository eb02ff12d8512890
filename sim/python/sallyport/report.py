"""What a run leaves behind: the table on the terminal and a self-contained HTML page."""

from __future__ import annotations

import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader
from rich.console import Console
from rich.table import Table

COLUMNS = (
    ("frame B", lambda r: str(r["frame_size"])),
    ("load %", lambda r: f"{r['load_pct']:.2f}"),
    ("theoretical %", lambda r: f"{r['theoretical_pct']:.2f}"),
    ("throughput %", lambda r: f"{r['throughput_pct']:.2f}"),
    ("of theoretical", lambda r: f"{100 * r['ratio']:.2f} %"),
    ("Mpps", lambda r: f"{r['mpps']:.3f}"),
    ("Gb/s L2", lambda r: f"{r['gbps_l2']:.2f}"),
    ("tx", lambda r: str(r["tx_frames"])),
    ("lost", lambda r: str(r["lost"])),
    ("reordered", lambda r: str(r["reordered"])),
    ("latency min", lambda r: f"{r['latency_ns']['min'] / 1000:.2f}"),
    ("avg", lambda r: f"{r['latency_ns']['avg'] / 1000:.2f}"),
    ("p99", lambda r: f"{r['latency_ns']['p99'] / 1000:.2f}"),
    ("max µs", lambda r: f"{r['latency_ns']['max'] / 1000:.2f}"),
)


def heading(rows: list[dict]) -> str:
    """One line that says what the figures are."""
    first = rows[0]
    boxes = "two boxes back to back" if first["boxes"] == 2 else "one box"
    ways = {
        "both": "both directions at once, figures per direction",
        "encrypt": "encrypt only",
        "decrypt": "decrypt only",
    }
    return (
        f"RFC 2544 {first['test']}, simulated: {boxes}, {ways[first['direction']]}; {first['suite']}, "
        f"{first['mode']} mode, IPv{first['ip']}, {first['sas']} SA a direction"
        + (f", {first['rekeys']} rekeys a trial" if first["rekeys"] else "")
    )


def table(rows: list[dict]) -> None:
    """Print the rows on standard output."""
    if not rows:
        return
    grid = Table(title=heading(rows), title_justify="left", title_style="bold")
    for name, _ in COLUMNS:
        grid.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        grid.add_row(*(show(row) for _, show in COLUMNS))
    console = Console()
    # A pipe has no width of its own; do not fold the table there.
    if not console.is_terminal:
        console = Console(width=160)
    console.print(grid)


def html(rows: list[dict]) -> str:
    """The report as one HTML page that needs no network."""
    labels = [str(row["frame_size"]) for row in rows]
    rate = go.Figure(
        [
            go.Bar(name="throughput", x=labels, y=[row["throughput_pct"] for row in rows]),
            go.Scatter(
                name="theoretical maximum", x=labels, y=[row["theoretical_pct"] for row in rows], mode="markers"
            ),
        ],
        layout=go.Layout(
            title="Throughput", xaxis_title="frame size (B)", yaxis_title="% of line rate", xaxis_type="category"
        ),
    )
    latency = go.Figure(
        [
            go.Scatter(name=key, x=labels, y=[row["latency_ns"][key] / 1000 for row in rows], mode="lines+markers")
            for key in ("min", "avg", "p50", "p99", "max")
        ],
        layout=go.Layout(
            title="Latency at that load", xaxis_title="frame size (B)", yaxis_title="µs", xaxis_type="category"
        ),
    )
    rate.update_yaxes(rangemode="tozero")
    latency.update_yaxes(rangemode="tozero")
    page = Environment(loader=PackageLoader("sallyport"), autoescape=True).get_template("report.html.j2")
    return page.render(
        heading=heading(rows),
        columns=[name for name, _ in COLUMNS],
        cells=[[show(row) for _, show in COLUMNS] for row in rows],
        plots=[
            rate.to_html(full_html=False, include_plotlyjs=True),
            latency.to_html(full_html=False, include_plotlyjs=False),
        ],
        command=" ".join(["./sallyport", *sys.argv[1:]]),
        machine=f"{platform.machine()}, {platform.system()} {platform.release()}",
        when=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        wall_s=sum(row["wall_s"] for row in rows),
    )


def write(path: Path, text: str) -> None:
    """Write a result file, making its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
