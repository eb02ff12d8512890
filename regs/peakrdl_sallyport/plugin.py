# SPDX-License-Identifier: Apache-2.0
"""The `peakrdl scala`, `peakrdl go` and `peakrdl cpp` subcommands (pyproject.toml names them)."""

import argparse
import subprocess
from pathlib import Path

from peakrdl.plugins.exporter import ExporterSubcommandPlugin
from systemrdl.node import AddrmapNode

from . import cpp, golang, scala
from .model import build


def write(contents: dict[str, str], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, text in contents.items():
        path = folder / name
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


class ScalaExporter(ExporterSubcommandPlugin):
    short_desc = "Generate Sallyport's Scala descriptors"

    def do_export(self, top_node: AddrmapNode, options: argparse.Namespace) -> None:
        write(scala.files(build(top_node)), Path(options.output))


class GoExporter(ExporterSubcommandPlugin):
    short_desc = "Generate Sallyport's Go constants and tables"

    def do_export(self, top_node: AddrmapNode, options: argparse.Namespace) -> None:
        paths = write(golang.files(build(top_node)), Path(options.output))
        subprocess.run(["gofmt", "-w", *map(str, paths)], check=True)


class CppExporter(ExporterSubcommandPlugin):
    short_desc = "Generate the counters of the fuzzing in C++"

    def do_export(self, top_node: AddrmapNode, options: argparse.Namespace) -> None:
        write(cpp.files(build(top_node)), Path(options.output))
