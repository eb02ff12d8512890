# SPDX-License-Identifier: Apache-2.0
"""Commands on a box, over ssh."""

from __future__ import annotations

import subprocess

from sallyport.trex.lab import Box, Ssh

CONNECT_SECONDS = 10
ANSWER_SECONDS = 120.0
SSH_FAILED = 255  # of ssh itself; any other status is the command's


class Unanswered(Exception):
    """A box did not carry out a command; the text says why."""


def words(box: Box, ssh: Ssh, command: str, terminal: bool = False) -> list[str]:
    """The command line that runs `command` in the box's shell, in a terminal there if asked for."""
    key = ["-i", str(ssh.key)] if ssh.key else []
    return [
        "ssh", *(["-tt"] if terminal else []), "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_SECONDS}", *key,
        "-p", str(ssh.port), f"{ssh.user}@{box.management}", command,
    ]  # fmt: skip


def ask(box: Box, ssh: Ssh, command: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """The command with its status and output, whatever these are; [Unanswered] if it was not
    run or did not end."""
    try:
        done = subprocess.run(
            words(box, ssh, command), input=given, capture_output=True, text=True, timeout=ANSWER_SECONDS, check=False
        )
    except OSError as error:
        raise Unanswered(f"ssh cannot be run ({error.strerror})") from None
    except subprocess.TimeoutExpired:
        raise Unanswered(f"{box.name} ({box.management}) does not answer within {ANSWER_SECONDS:.0f} s") from None
    if done.returncode == SSH_FAILED:
        raise Unanswered(f"{box.name} ({box.management}) does not answer ssh ({last(done.stderr)})")
    return done


def run(box: Box, ssh: Ssh, command: str, given: str = "") -> str:
    """What a command prints; [Unanswered] if it fails, too."""
    done = ask(box, ssh, command, given)
    if done.returncode:
        raise Unanswered(f"{box.name}: '{command}' failed ({last(done.stderr)})")
    return done.stdout


def last(text: str) -> str:
    """The last line of a text, which is what a program that failed says."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else "without a word"
