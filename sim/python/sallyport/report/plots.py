# SPDX-License-Identifier: Apache-2.0
"""The plots of the page: plotly figures, drawn by the browser from data in the page."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import plotly.graph_objects as go

from sallyport.report import cells, settings

# Colour-blind readers can tell these apart, and all are readable on white and on black: the page
# has no other colours for dark screens.
_COLOURS = ("#3b7dd8", "#d9822b", "#2f9e6e", "#c2528b", "#8a6fd1", "#1d9fb5", "#a98a1b", "#c4574b")
_GREY = "#808893"
_PERCENTILES = {"min": "dot", "p50": "solid", "p90": "solid", "p99": "solid", "p99_99": "solid", "max": "dash"}
_CONFIG = {"displayModeBar": False, "responsive": True, "scrollZoom": False, "doubleClick": False}


@dataclass(frozen=True)
class Plot:
    """A figure as HTML, and its caption."""

    caption: str
    origin: str
    div: str


def plots(test: str, rows: list[dict], number: int, with_histograms: bool) -> list[Plot]:
    """The plots of one test; `number` is that of its section, which keeps the names of the
    elements apart."""
    drawn: list[tuple[str, go.Figure, list[dict]]] = []
    if test in _OF_ALL:
        drawn.append((*_OF_ALL[test](rows), rows))
    if test == "latency":
        drawn += [(*_latency(name, mine), mine) for name, mine in _each_size(rows).items()]
    if with_histograms:
        drawn += [(*_histogram(name, mine), mine) for name, mine in _each_size(rows).items()]
    shown = [(caption, figure, mine) for caption, figure, mine in drawn if figure.data]
    return [
        Plot(caption, settings.origin(mine), _div(figure, f"plot-{number}-{index}"))
        for index, (caption, figure, mine) in enumerate(shown, 1)
    ]


def _div(figure: go.Figure, name: str) -> str:
    return figure.to_html(
        full_html=False,
        include_plotlyjs=False,
        div_id=name,
        config=_CONFIG,
        default_width="100%",
        default_height="20rem",
    )


def _figure(traces: list, x: str, y: str, **layout) -> go.Figure:
    axis = {
        "gridcolor": "rgba(128,136,147,0.22)",
        "linecolor": _GREY,
        "ticks": "outside",
        "tickcolor": _GREY,
        "zeroline": False,
    }
    figure = go.Figure(traces)
    figure.update_layout(
        template="none",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={
            "family": "Inter, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
            "size": 12,
            "color": "#3c4450",
        },
        margin={"l": 56, "r": 12, "t": 8, "b": 48},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 11}},
        colorway=_COLOURS,
        hovermode="closest",
        dragmode=False,
        showlegend=len(traces) > 1,
        xaxis={**axis, "title": {"text": x, "standoff": 8}},
        yaxis={**axis, "title": {"text": y, "standoff": 8}, "rangemode": "tozero"},
    )
    return figure.update_layout(**layout)


def _groups(rows: list[dict], *but: str) -> dict[str, list[dict]]:
    """The rows of each setting that varies, by its words."""
    keys, found = settings.varying(rows, *but), {}
    for row in rows:
        found.setdefault(settings.series(row, keys), []).append(row)
    return found


def _each_size(rows: list[dict]) -> dict[str, list[dict]]:
    """The rows of each frame size and setting, by their names in a legend."""
    keys, found = settings.varying(rows), {}
    for row in rows:
        found.setdefault(_label(cells.sized(row), settings.series(row, keys)), []).append(row)
    return found


def _label(*words: str) -> str:
    return ", ".join(word for word in words if word)


def _cable(row: dict) -> dict | None:
    """What the tester showed of itself through a cable, of such frames."""
    return (row.get("tester") or {}).get("cable")


def _throughput(rows: list[dict]) -> tuple[str, go.Figure]:
    """Bars beside the mark that a perfect box would reach."""
    traces, groups = [], _groups(rows)
    for index, (name, mine) in enumerate(groups.items()):
        labels = [cells.size(row) for row in mine]
        traces.append(
            go.Bar(
                name=_label("throughput", name), x=labels, y=[r["throughput_pct"] for r in mine], offsetgroup=str(index),
                marker={"color": _COLOURS[index % len(_COLOURS)]}, hovertemplate="%{x} B: %{y:.2f} % of line rate<extra></extra>",
            )
        )  # fmt: skip
        traces.append(
            go.Bar(
                name=_label("theoretical maximum", name), x=labels, y=[r["theoretical_pct"] for r in mine], offsetgroup=f"{index} max",
                marker={"color": "rgba(128,136,147,0.25)", "line": {"color": _GREY, "width": 1}},
                hovertemplate="%{x} B: at most %{y:.2f} % of line rate<extra></extra>",
            )
        )  # fmt: skip
    cables = {
        cells.size(row): cable["fps"] * row["load_pct"] / row["intended_fps"]
        for row in rows
        if (cable := _cable(row)) and not cable.get("bounded")  # or the tester may carry more
    }
    if cables:
        traces.append(
            go.Scatter(
                name="the tester through a cable", x=list(cables), y=list(cables.values()), mode="markers",
                marker={"symbol": "line-ew-open", "size": 22, "color": _GREY}, hovertemplate="cable: %{y:.2f} %<extra></extra>",
            )
        )  # fmt: skip
    figure = _figure(traces, "frame size (B)", "% of line rate", barmode="group", bargap=0.3, bargroupgap=0.06)
    figure.update_xaxes(type="category")
    return "Throughput and theoretical maximum against frame size", figure


def _tunnels(rows: list[dict]) -> tuple[str, go.Figure]:
    """A line for each frame size, with its maximum dashed."""
    traces, index = [], 0
    for name, group in _groups(rows, "sas").items():
        for size in dict.fromkeys(row["frame_size"] for row in group):
            mine = sorted((row for row in group if row["frame_size"] == size), key=lambda r: r["sas"])
            style = {"x": [cells.count(r["sas"]) for r in mine], "mode": "lines+markers"}
            colour, label = _COLOURS[index % len(_COLOURS)], _label(cells.sized(mine[0]), name)
            best = {"color": colour, "dash": "dash", "width": 1}
            traces += [
                go.Scatter(name=label, y=[r["throughput_pct"] for r in mine], line={"color": colour}, **style),
                go.Scatter(
                    name=_label("theoretical maximum", label), y=[r["theoretical_pct"] for r in mine], line=best, showlegend=False,
                    **style | {"mode": "lines"},
                ),
            ]  # fmt: skip
            index += 1
    figure = _figure(traces, "SAs a direction", "% of line rate").update_xaxes(type="category")
    return "Throughput against tunnels; dashed: theoretical maximum", figure


def _latency(name: str, rows: list[dict]) -> tuple[str, go.Figure]:
    """Of one frame size, percentiles against load."""
    there = sorted((row for row in rows if row["latency_ns"]), key=lambda r: r["load_pct"])
    of = "throughput" if all(row.get("of_throughput_pct") for row in there) else "line rate"
    loads = [row["of_throughput_pct"] if of == "throughput" else row["load_pct"] for row in there]
    traces = [
        go.Scatter(
            name=key.replace("_", "."), x=loads, y=[row["latency_ns"][key] / 1000 for row in there], mode="lines+markers",
            line={"color": _GREY if dash != "solid" else _COLOURS[index % len(_COLOURS)], "dash": dash, "width": 1.5},
            marker={"size": 5}, hovertemplate=f"{key.replace('_', '.')} at %{{x:g}} %: %{{y:.3f}} µs<extra></extra>",
        )
        for index, (key, dash) in enumerate(_PERCENTILES.items())
    ]  # fmt: skip
    if there and (cable := _cable(there[0])):
        floor = [cable["latency_ns"]["avg"] / 1000] * len(there)
        traces.append(
            go.Scatter(
                name="cable", x=loads, y=floor, mode="lines", line={"color": _GREY, "dash": "longdash", "width": 1}
            )
        )
    return f"Latency against load, {name}", _figure(
        traces if there else [], f"load (% of {of})", "µs", yaxis_rangemode="normal"
    )


def _loss(rows: list[dict]) -> tuple[str, go.Figure]:
    """A line for each frame size."""
    traces = []
    for index, (name, mine) in enumerate(_each_size(rows).items()):
        ordered = sorted(mine, key=lambda r: r["load_pct"])
        dash = "dash" if index // len(_COLOURS) % 2 else "solid"
        loads, lost = [r["load_pct"] for r in ordered], [r["loss_pct"] for r in ordered]
        traces.append(
            go.Scatter(name=name, x=loads, y=lost, mode="lines+markers", marker={"size": 5}, line={"dash": dash})
        )
    return "Frame loss against load", _figure(
        traces, "intended load (% of line rate)", "frames lost (%)", showlegend=True
    )


def _histogram(name: str, rows: list[dict]) -> tuple[str, go.Figure]:
    """Of the highest load of one frame size: how many packets took how long."""
    row = max(rows, key=lambda r: r["load_pct"])
    ends, counts = [end / 1000 for end, _ in row["histogram"]], [count for _, count in row["histogram"]]
    traces = []
    if ends:
        # Buckets without packets may be left out, so the closest two tell how wide one is.
        width = min((b - a for a, b in pairwise(ends)), default=ends[0] / 100)
        traces.append(
            go.Bar(
                x=[end - width / 2 for end in ends], y=[100 * count / sum(counts) for count in counts], width=width, customdata=ends,
                marker={"color": _COLOURS[0], "line": {"width": 0}},
                hovertemplate="within %{customdata:.3f} µs: %{y:.4f} % of packets<extra></extra>",
            )
        )  # fmt: skip
    figure = _figure(traces, "latency (µs)", "% of packets")
    figure.update_yaxes(type="log", rangemode="normal", exponentformat="none", dtick=1)
    return f"Latency histogram, {name} at {row['load_pct']:.2f} % of line rate", figure


_OF_ALL = {"throughput": _throughput, "tunnels": _tunnels, "loss": _loss}
