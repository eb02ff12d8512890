# SPDX-License-Identifier: Apache-2.0
"""The throughput of clusters on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table


def show(title: str, rows: list[dict]) -> None:
    """Print a row for each search."""
    grid = Table(title=title, title_justify="left")
    for name in ("nodes", "flows", "dispatch", "frames", "Gb/s", "of linear", "wire Gb/s", "least share", "most share"):
        grid.add_column(name, justify="left" if name == "dispatch" else "right")
    for row in rows:
        sent = sum(row["shares"]) or 1
        shares = [f"{100 * share / sent:.1f} %" for share in (min(row["shares"]), max(row["shares"]))]
        linear = "" if row["of_linear_pct"] is None else f"{row['of_linear_pct']:.1f} %"
        grid.add_row(
            str(row["nodes"]),
            str(row["flows"]),
            row["dispatch"],
            row["frames"],
            f"{row['gbps']:.2f}" if row["passed"] else "none",
            linear,
            f"{row['wire_gbps']:.2f}",
            *shares,
        )
    Console(width=120).print(grid)
