# SPDX-License-Identifier: Apache-2.0
"""`scripts/model.sh` compiles each model of ChiselSim once; a program that counts its calls stands
in for Verilator."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The "model" is a program that prints the Verilog it was compiled of. A file `broken` ends the
# compiler half-way.
VERILATOR = """#!/bin/sh
[ "$1" != --version ] || exec echo "stand-in"
echo "$PWD" >> "$CALLS"
echo "#!/bin/sh" > simulation
[ ! -e "$BROKEN" ] || kill -KILL "$PPID"
while [ -e "$SLOW" ]; do sleep 0.05; done
echo "cat <<'END'" >> simulation
cat ../primary-sources/*.sv >> simulation
chmod +x simulation
"""
# The lock of util-linux, which says first that it is asked for.
FLOCK = f"""#!/bin/sh
echo asked >> "$LOCKS"
exec {shutil.which("flock")} "$@"
"""


class Clone:
    """A folder with the script, as in a clone, and a stand-in for Verilator."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "scripts").mkdir()
        (folder / "bin").mkdir()
        shutil.copy(ROOT / "scripts/model.sh", folder / "scripts")
        for name, program in (("verilator", VERILATOR), ("flock", FLOCK)):
            (folder / "bin" / name).write_text(program)
            (folder / "bin" / name).chmod(0o755)
        self.calls, self.locks, self.broken, self.slow = (
            folder / name for name in ("calls", "locks", "broken", "slow")
        )
        self.calls.touch()
        self.locks.touch()
        marks = {"CALLS": self.calls, "LOCKS": self.locks, "BROKEN": self.broken, "SLOW": self.slow}
        path = f"{folder / 'bin'}:{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "MAKEFLAGS": "w -j2 -- OPT_FAST=-O1"}
        self.environment |= {name: str(file) for name, file in marks.items()}

    def start(self, test: str, verilog: str, *options: str, make: str | None = None) -> subprocess.Popen[bytes]:
        """Starts the script as ChiselSim's makefile does for one test."""
        workspace = self.folder / "build/chiselsim" / test
        work = workspace / "workdir-verilator"
        for folder in (work, workspace / "primary-sources", workspace / "generated-sources"):
            folder.mkdir(parents=True, exist_ok=True)
        (workspace / "primary-sources/Top.sv").write_text(verilog)
        sources = work / "sourceFiles.F"
        sources.write_text("../primary-sources/Top.sv\n")
        command = [self.folder / "scripts/model.sh", *options, f"-I{workspace}", "-F", sources]
        environment = {**self.environment, **({"MAKEFLAGS": make} if make else {})}
        return subprocess.Popen(command, cwd=work, env=environment)

    def run(self, test: str, verilog: str, *options: str, make: str | None = None) -> str:
        """What the model prints that the script leaves in the folder of the test."""
        assert self.start(test, verilog, *options, make=make).wait() == 0
        model = self.folder / "build/chiselsim" / test / "workdir-verilator/simulation"
        return subprocess.run([model], check=True, capture_output=True, text=True).stdout

    def compiled(self) -> int:
        return len(self.calls.read_text().splitlines())

    def locked(self) -> int:
        return len(self.locks.read_text().splitlines())


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def test_tests_of_the_same_verilog_compile_it_once(clone: Clone) -> None:
    for test in ("ASpec/first", "ASpec/second", "BSpec/first", "ASpec/first"):
        assert clone.run(test, "module Top;\n") == "module Top;\n"
    assert clone.compiled() == 1


def test_two_at_once_compile_once(clone: Clone) -> None:
    clone.slow.touch()
    both = [clone.start(test, "module Top;\n") for test in ("ASpec/first", "BSpec/first")]
    while clone.compiled() + clone.locked() < 3:
        assert all(process.poll() is None for process in both)
        time.sleep(0.01)
    clone.slow.unlink()
    assert [process.wait() for process in both] == [0, 0]
    assert clone.run("BSpec/first", "module Top;\n") == "module Top;\n"
    assert clone.compiled() == 1


def test_what_decides_a_model_makes_another(clone: Clone) -> None:
    clone.run("ASpec/first", "module Top; wire a;\n")
    assert clone.run("ASpec/first", "module Top; wire b;\n") == "module Top; wire b;\n"
    clone.run("ASpec/first", "module Top; wire b;\n", "+define+LAYER")
    clone.run("ASpec/first", "module Top; wire b;\n", make="w -j2 -- OPT_FAST=-O2")
    assert clone.compiled() == 4


def test_options_of_make_itself_and_lines_of_scala_do_not(clone: Clone) -> None:
    clone.run("ASpec/first", "wire a;\t// X.scala:3:5, :7:9\n")
    clone.run("ASpec/first", "wire a;\t// X.scala:4:5, :8:9\n", make="w -j3 --jobserver-auth=3,4 -- OPT_FAST=-O1")
    assert clone.compiled() == 1
    clone.run("ASpec/first", 'message = "\t// X.scala:3:5";\n')
    clone.run("ASpec/first", 'message = "\t// X.scala:4:5";\n')
    assert clone.compiled() == 3


def test_a_compiler_that_is_killed_leaves_no_model(clone: Clone) -> None:
    clone.broken.touch()
    assert clone.start("ASpec/first", "module Top;\n").wait() == -signal.SIGKILL
    clone.broken.unlink()
    assert [path.suffix for path in (clone.folder / "build/models").iterdir()] == [".lock"]
    assert clone.run("BSpec/first", "module Top;\n") == "module Top;\n"
    assert clone.compiled() == 2


def test_a_compiler_that_fails_fails_the_test(clone: Clone) -> None:
    (clone.folder / "bin/verilator").write_text('#!/bin/sh\n[ "$1" != --version ] || exit 0\nexit 3\n')
    assert clone.start("ASpec/first", "module Top;\n").wait() == 3
    assert not [path for path in (clone.folder / "build/models").iterdir() if path.suffix != ".lock"]
