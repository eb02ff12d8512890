# SPDX-License-Identifier: Apache-2.0
"""What a person sends of a run of Vivado: reports, logs, versions, and a summary by our gate, in
one archive without designs.

`make first-run` calls `python -m boards.bundle --board B --variant V [--chip C]` behind the run,
however that ended.
"""

from __future__ import annotations

import io
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import click

from boards import flow
from boards.board import Board, BoardError
from boards.flow import build_folder, chips

# Of a chip's build folder. Checkpoints and bitstreams have the design and are large; they stay.
SENT = ("chip.tcl", "*.xdc", "flow.log", "vivado.log", "gate.txt", "ip_licences.rpt", "reports/*/*.rpt", "*.sha256")
STEP = re.compile(r"^sallyport: \w+ \w+: (\w+): (.*)$", re.MULTILINE)
MESSAGE = re.compile(r"^(?:ERROR|CRITICAL WARNING): .*$", re.MULTILINE)
MOST = 20


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def _command(*words: str) -> str:
    if shutil.which(words[0]) is None:
        return f"{words[0]}: not there\n"
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def versions() -> str:
    """Tree, tools and machine of the run; no name of a person or a host."""
    return "".join(
        [
            f"tree: {_text(Path('VERSION')).strip()} {_command('git', 'rev-parse', 'HEAD').strip()}\n",
            f"changed files:\n{_command('git', 'status', '--porcelain')}",
            f"vivado:\n{_command('vivado', '-version')}",
            f"python: {platform.python_version()}\nsystem: {platform.system()} {platform.machine()}\n",
        ]
    )


def _some(title: str, lines: list[str]) -> list[str]:
    more = [f"    and {len(lines) - MOST} more"] if len(lines) > MOST else []
    return [f"  {title}: {len(lines)}", *(f"    {line}" for line in lines[:MOST]), *more]


def summary(chip: str, folder: Path) -> str:
    """How far a chip came, by step; what the gate found; errors and critical warnings of Vivado,
    each once."""
    steps = STEP.findall(_text(folder / "flow.log"))
    if not steps:
        return f"{chip}: not begun\n"
    lines = [f"{chip}: last step {steps[-1][0]}", *(f"  {step}: {told}" for step, told in steps)]
    if (folder / "gate.txt").exists():
        lines += _some("gate, violations", _text(folder / "gate.txt").splitlines())
    else:
        lines.append("  gate: not reached")
    lines += _some("errors and critical warnings", list(dict.fromkeys(MESSAGE.findall(_text(folder / "vivado.log")))))
    return "\n".join(lines) + "\n"


def write(board: Board, wanted: tuple[str, ...], out: Path) -> str:
    """Write the archive and return its summary."""
    folders = {chip: build_folder(board, chip) for chip in wanted}
    told = f"{board.name} {board.variant}, {board.part}\n" + "".join(
        summary(chip, folder) for chip, folder in folders.items()
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(out, "w:gz") as archive:
        for name, text in (("summary.txt", told), ("versions.txt", versions())):
            entry = tarfile.TarInfo(f"{out.name.split('.')[0]}/{name}")
            content = text.encode()
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        for chip, folder in folders.items():
            for path in sorted(path for pattern in SENT for path in folder.glob(pattern)):
                archive.add(path, f"{out.name.split('.')[0]}/{chip}/{path.relative_to(folder)}")
    return told


@click.command()
@flow.board_option
@flow.chip_option
@flow.part_option
@flow.variant_option
def main(board_name: str, chip: str, part: str, variant: str) -> None:
    """Write the archive to build/boards/<board>-<variant>-run.tar.gz and print its summary."""
    board = Board.load(board_name).with_part(part).with_variant(variant)
    out = Path("build/boards") / f"{board.name}-{board.variant}-run.tar.gz"
    click.echo(write(board, chips(chip), out), nl=False)
    click.echo(f"send {out}")


if __name__ == "__main__":
    try:
        main(standalone_mode=False)
    except (BoardError, click.UsageError) as wrong:
        click.echo(f"boards: {wrong.format_message() if isinstance(wrong, click.UsageError) else wrong}", err=True)
        sys.exit(2)
