# SPDX-License-Identifier: Apache-2.0
"""`make bitstreams`, `make program`, `make corundum`: bad input is one sentence and status 2,
before any work. vivado is a stand-in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from boards import corundum, flow
from boards.board import Board, BoardError
from tests.support.paths import ROOT


def make_vivado(folder: Path, version: str, status: int = 0) -> Path:
    """A program that tells its version as Vivado does, and writes down its arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "vivado"
    program.write_text(
        f'#!/bin/sh\n[ "$1" != -version ] || {{ echo "vivado {version} (64-bit)"; exit 0; }}\n'
        f'echo "$@" >> {folder}/calls\nexit {status}\n'
    )
    program.chmod(0o755)
    return folder


def run(work: Path, path: Path | None, *arguments: str) -> subprocess.CompletedProcess[str]:
    tools = f"{path}:/usr/bin:/bin" if path else "/usr/bin:/bin"
    environment = {**os.environ, "PATH": tools}
    command = [sys.executable, "-m", "boards.flow", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=work, env=environment)


@pytest.mark.parametrize(
    ("arguments", "version", "said"),
    [
        (["check", "--board", "zcu102"], "v2023.2", "there is no board 'zcu102': choose one of vcu1525, xupp3r"),
        (["check", "--board", "vcu1525", "--chip", "middle"], "v2023.2", "there is no chip 'middle'"),
        (
            ["check", "--board", "vcu1525", "--part", "xcu250"],
            "v2023.2",
            "no part xcu250: choose one of xcvu9p-fsgd2104-2L-e, xcu200-fsgd",
        ),
        (
            ["check", "--board", "vcu1525", "--variant", "small"],
            "v2023.2",
            "there is no variant 'small': choose one of full, first",
        ),
        (
            ["check", "--board", "vcu1525", "--last", "phys_opt"],
            "v2023.2",
            "there is no step 'phys_opt': choose one of synth, place, route, bitstream",
        ),
        (["check", "--board", "vcu1525"], None, "vivado is not in PATH: source"),
        (["check", "--board", "vcu1525"], "v2025.1", "Vivado 2025.1 is in PATH, the IPs are those of 2023.2: source"),
        (["check", "--board", "vcu1525"], "", "a vivado that does not tell its release"),
        (["check", "--board", "vcu1525"], "v2023.2", "corundum is not in build/corundum: make corundum"),
        (["run", "--board", "vcu1525", "--chip", "crypto"], "v2023.2", "has no CryptoBoard.sv: make"),
        (["program", "--board", "vcu1525"], "v2023.2", "which card?"),
        (
            ["program", "--board", "xupp3r", "--chip", "outer", "--variant", "first"],
            "v2023.2",
            "build/boards/xupp3r-first/outer/OuterBoard.bit is not there",
        ),
        (
            ["program", "--board", "xupp3r", "--chip", "outer"],
            "v2023.2",
            "OuterBoard.bit is not there: make bitstreams BOARD=xupp3r CHIP=outer",
        ),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, arguments: list[str], version: str | None, said: str):
    path = None if version is None else make_vivado(tmp_path / "bin", version)
    done = run(tmp_path, path, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "bin" / "calls").exists()


@pytest.mark.parametrize("status", [0, 1])
def test_run_calls_vivado_and_hands_its_status_on(tmp_path: Path, status: int):
    path = make_vivado(tmp_path / "bin", "v2023.2", status)
    rtl = tmp_path / "build/boards/vcu1525/crypto/rtl"
    rtl.mkdir(parents=True)
    (rtl / "CryptoBoard.sv").write_text("module CryptoBoard(); endmodule\n")
    done = run(tmp_path, path, "run", "--board", "vcu1525", "--chip", "crypto", "--part", "xcu200-fsgd2104-2-e")
    assert done.returncode == status, done.stderr
    assert "set chip(part) xcu200-fsgd2104-2-e\n" in (rtl.parent / "chip.tcl").read_text()
    assert "flow.tcl -tclargs build/boards/vcu1525/crypto/chip.tcl bitstream" in (path / "calls").read_text()


@pytest.mark.parametrize(
    ("last", "step"), [("synth", "constrain"), ("place", "place"), ("route", "gate"), ("bitstream", "bitstream")]
)
def test_a_run_ends_where_its_result_can_be_judged(tmp_path: Path, last: str, step: str):
    path = make_vivado(tmp_path / "bin", "v2023.2")
    rtl = tmp_path / "build/boards/vcu1525-first/crypto/rtl"
    rtl.mkdir(parents=True)
    (rtl / "CryptoBoard.sv").write_text("module CryptoBoard(); endmodule\n")
    options = ["--board", "vcu1525", "--chip", "crypto", "--variant", "first", "--last", last]
    done = run(tmp_path, path, "run", *options)
    assert done.returncode == 0, done.stderr
    assert f"build/boards/vcu1525-first/crypto/chip.tcl {step}\n" in (path / "calls").read_text()


@pytest.mark.parametrize(("status", "calls"), [(1, 3), (2, 1)])
def test_a_first_run_goes_on_with_the_other_chips(tmp_path: Path, status: int, calls: int):
    """After a chip that fails; not after one that could not begin, such as without a licence."""
    path = make_vivado(tmp_path / "bin", "v2023.2", status)
    make_corundum = f"import boards.corundum as c; c.COMMIT = {make_repository(tmp_path / 'upstream')!r}; "
    make_corundum += f"c.fetch({str(tmp_path / 'upstream')!r}); c.VERILOG = c.CONSTRAINTS = (); "
    for chip in ("inner", "crypto", "outer"):
        rtl = tmp_path / "build/boards/vcu1525" / chip / "rtl"
        rtl.mkdir(parents=True)
        (rtl / f"{chip.capitalize()}Board.sv").write_text("")
    call = "from boards.flow import main; main(['run', '--board', 'vcu1525', '--keep-going'])"
    environment = {**os.environ, "PATH": f"{path}:/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", make_corundum + call]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert done.returncode == status, done.stderr
    assert len((path / "calls").read_text().splitlines()) == calls


def test_constraints_alone_make_no_new_synthesis(tmp_path: Path):
    rtl = tmp_path / "rtl"
    (rtl / "constraints").mkdir(parents=True)
    (rtl / "CryptoBoard.sv").write_text("module CryptoBoard(); endmodule\n")
    (rtl / "constraints/A.tcl").write_text("# one\n")
    build = tmp_path / "build"

    def left(text: str) -> list[str]:
        (rtl / "constraints/A.tcl").write_text(text)
        flow.write_chip(Board.load("xupp3r"), "crypto", build, rtl)
        return [name for name in flow.CHECKPOINTS if (build / name).exists()]

    left("# one\n")
    for name in flow.CHECKPOINTS:
        (build / name).write_text("")
    assert left("# one\n") == list(flow.CHECKPOINTS)
    assert left("# two\n") == ["synth.dcp"]


@pytest.mark.parametrize(
    ("script", "left"), [("steps", ["synth.dcp"]), ("synth", []), ("gate", list(flow.CHECKPOINTS))]
)
def test_a_script_forgets_the_steps_it_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, left: list[str]
):
    """Another directive of the placement costs no synthesis of hours."""
    scripts = tmp_path / "tcl"
    shutil.copytree(flow.TCL, scripts)
    monkeypatch.setattr(flow, "TCL", scripts)
    (tmp_path / "CryptoBoard.sv").write_text("module CryptoBoard(); endmodule\n")
    build = tmp_path / "build"
    flow.write_chip(Board.load("xupp3r"), "crypto", build, tmp_path)
    for name in flow.CHECKPOINTS:
        (build / name).write_text("")
    with (scripts / f"{script}.tcl").open("a") as file:
        file.write("# changed\n")
    flow.write_chip(Board.load("xupp3r"), "crypto", build, tmp_path)
    assert [name for name in flow.CHECKPOINTS if (build / name).exists()] == left


def make_repository(folder: Path) -> str:
    """A repository with one commit, whose name is returned."""
    folder.mkdir()
    for arguments in (["init", "-q"], ["config", "user.email", "a@b"], ["config", "user.name", "a"]):
        corundum.git(folder, *arguments)
    (folder / "file.v").write_text("module m; endmodule\n")
    corundum.git(folder, "add", "-A")
    corundum.git(folder, "commit", "-qm", "one")
    return corundum.git(folder, "rev-parse", "HEAD")


def test_corundum_is_fetched_at_its_commit_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(corundum, "COMMIT", make_repository(tmp_path / "upstream"))
    folder = tmp_path / "corundum"
    corundum.fetch(str(tmp_path / "upstream"), folder)
    corundum.fetch(str(tmp_path / "upstream"), folder)
    assert (folder / "file.v").exists()
    (folder / "file.v").write_text("changed\n")
    with pytest.raises(BoardError, match=r"were changed: git -C .* checkout -f"):
        corundum.verify(folder)
    corundum.git(folder, "checkout", "-f")
    monkeypatch.setattr(corundum, "COMMIT", "0" * 40)
    with pytest.raises(BoardError, match=r"is at commit .*: rm -r .* && make corundum"):
        corundum.verify(folder)
    with pytest.raises(BoardError, match="git fetch"):
        corundum.fetch(str(tmp_path / "upstream"), tmp_path / "again")
    assert not (tmp_path / "again").exists(), "what could not be fetched is not half there"


def test_description_is_the_same_every_time(tmp_path: Path):
    rtl = tmp_path / "rtl"
    rtl.mkdir()
    (rtl / "CryptoBoard.sv").write_text("module CryptoBoard(); endmodule\n")
    first = flow.write_chip(Board.load("xupp3r"), "crypto", tmp_path / "build", rtl).read_text()
    (tmp_path / "build" / "route.dcp").write_text("")
    assert flow.write_chip(Board.load("xupp3r"), "crypto", tmp_path / "build", rtl).read_text() == first
    assert (tmp_path / "build" / "route.dcp").exists()
