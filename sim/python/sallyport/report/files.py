# SPDX-License-Identifier: Apache-2.0
"""The files of a run: the page, and the rows as CSV and JSON beside it."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

from sallyport.errors import InputError
from sallyport.report.page import html
from sallyport.rows import SCHEMA


def write(path: Path, text: str) -> None:
    """Write a result file whole or not at all, making its folder; what cannot be written is a
    sentence, not a traceback."""
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}); choose another file") from None


def _places(html_file: Path | None, json_file: Path | None) -> dict[str, Path]:
    if html_file is None:
        return {"json": json_file} if json_file else {}
    return {
        "html": html_file,
        "csv": html_file.with_suffix(".csv"),
        "json": json_file or html_file.with_suffix(".json"),
    }


def check_places(html_file: Path | None, json_file: Path | None) -> None:
    """Before a run of hours: [InputError] if its files would overwrite each other or cannot
    be written."""
    places = _places(html_file, json_file)
    if len(set(places.values())) < len(places):
        raise InputError(
            f"--html {html_file}: the page, its .csv and its .json would be one file; choose a name that ends with .html"
        )
    for path in places.values():
        if path.is_dir():
            raise InputError(f"{path} is a folder; name a file")
        above = next(folder for folder in (*path.parents, Path()) if folder.exists())
        if not above.is_dir():
            raise InputError(f"{path} cannot be written, for {above} is a file; choose another folder")


def write_rows(rows: list[dict], html_file: Path | None, json_file: Path | None) -> None:
    """The rows so far as JSON, where [write_all] would leave them: they survive any end of
    the run."""
    place = _places(html_file, json_file).get("json")
    if place:
        write(place, json.dumps(rows, indent=2) + "\n")


def kept(html_file: Path | None, json_file: Path | None) -> list[dict]:
    """The rows of a run that ended early, none if it left none; [InputError] if the file is
    something else."""
    place = _places(html_file, json_file).get("json")
    if place is None:
        raise InputError(
            "--resume: there is no file of rows to go on from; give --json or --html of the run that ended"
        )
    if not place.exists():
        return []
    try:
        rows = json.loads(place.read_text())
    except (OSError, ValueError):
        rows = None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and row.get("schema") == SCHEMA for row in rows):
        raise InputError(f"--resume: {place} has no rows of this version; name another file, or leave --resume out")
    return rows


def write_all(
    rows: list[dict], html_file: Path | None, json_file: Path | None, command: str | None = None
) -> list[Path]:
    """Write the files and return them: `x.html` with `x.csv` and `x.json` beside it, or the
    JSON alone.

    `json_file` names another place for the JSON. No file is written before all are made.
    """
    places = _places(html_file, json_file)
    make = {
        "html": lambda: html(rows, command),
        "csv": lambda: csv_text(rows),
        "json": lambda: json.dumps(rows, indent=2) + "\n",
    }
    texts = {path: make[name]() for name, path in places.items()}
    for path, text in texts.items():
        write(path, text)
    return list(texts)


def csv_text(rows: list[dict]) -> str:
    """One flat line a row. Nested figures have columns of their own (`latency_ns.min`:
    `latency_min_ns`), lists are in one cell with spaces, and histograms are in the JSON alone."""
    lines = [_flat(row) for row in rows]
    names = list(dict.fromkeys(name for line in lines for name in line))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def _flat(row: dict) -> dict[str, str]:
    flat = {}
    for name, value in row.items():
        if isinstance(value, dict):
            stem, unit = (name.removesuffix("_ns"), "_ns") if name.endswith("_ns") else (name, "")
            flat |= {f"{stem}_{key}{unit}": _cell(each) for key, each in value.items()}
        elif name != "histogram" and not (value is None and name in ("latency_ns", "latency_fifo_ns")):
            flat[name] = _cell(value)
    return flat


def _cell(value: object) -> str:
    """As JSON writes it, but text without quotes and null as nothing."""
    if isinstance(value, list):
        sentences = any(isinstance(each, str) and " " in each for each in value)
        return ("; " if sentences else " ").join(map(_cell, value))
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)
