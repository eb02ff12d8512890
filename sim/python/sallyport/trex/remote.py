# SPDX-License-Identifier: Apache-2.0
"""The two gateways of a lab: boxes whose sallyctl and swanctl are asked over ssh."""

from __future__ import annotations

import contextlib
import re
import shlex
import sys
import time
from collections.abc import Iterator, Sequence

from sallyport.ike.charon import REPEATED, packets_of
from sallyport.ike.connections import SECRET
from sallyport.ike.daemon import SPI
from sallyport.ike.gateways import POLICIES, POLL_S
from sallyport.trex import boxes
from sallyport.trex import ssh as far
from sallyport.trex.alone import FLUSH
from sallyport.trex.heard import Heard
from sallyport.trex.lab import Box, Lab, Ssh

# swanctl takes a regular file alone, and looks for certificates and keys beside it.
_LOAD = (
    "d=$(mktemp -d) && trap 'rm -rf \"$d\"' EXIT && trap 'exit 1' HUP INT TERM && "
    'cat > "$d/swanctl.conf" && {} --load-all --clear --file "$d/swanctl.conf"'
)
_CONNECTION = re.compile(r"^  \w+ \{$", re.M)  # as of [connections]
_LOADED = re.compile(r"successfully loaded (\d+) connections")
_IKE_SA = re.compile(r"uniqueid=(\d+) version=")  # as --list-sas --raw has it
HEARD = r"loaded \S+ shared key"  # what charon says of every secret that it gets
HEARD_S, CLEAR_S = 30, 60  # until that is heard, and until no SA is left
GIVE_BACK = "--load-all --clear --noprompt"
OURS = "opening directory"  # begins a line of swanctl about folders that ours lacks


class RemoteGateway:
    """[sallyport.ike.gateways.Gateway]. Every call may raise [far.Unanswered]."""

    def __init__(self, side: int, box: Box, ssh: Ssh) -> None:
        self.side, self._box, self._ssh = side, box, ssh
        self._heard = Heard(box, ssh)

        self.advice = f"run '{ssh.swanctl} {GIVE_BACK}' on {box.name}"

    def close(self) -> None:
        self._heard.close()

    def load(self, text: str) -> None:
        done = far.ask(self._box, self._ssh, f"sh -c {shlex.quote(_LOAD.format(self._ssh.swanctl))}", text)
        # The status is 0 also of a file that swanctl cannot read.
        found = _LOADED.search(done.stdout)
        asked, taken = len(_CONNECTION.findall(text)), int(found[1]) if found else 0
        if done.returncode or taken != asked:
            raise far.Unanswered(
                f"{self._box.name}: '{self._ssh.swanctl} --load-all' took {taken} of {asked} connections ({reason(done.stderr)})"
            )

    def rekey(self, children: Sequence[str]) -> None:
        self._for_each("--rekey --child", children)

    def _for_each(self, command: str, names: Sequence[str]) -> None:
        """A command of swanctl for each name, by one command of ssh."""
        far.run(
            self._box, self._ssh, f"xargs -n 1 {self._ssh.swanctl} {command}", "".join(f"{each}\n" for each in names)
        )

    def _sallyctl(self, *commands: str) -> str:
        return far.run(self._box, self._ssh, " && ".join(f"{self._ssh.sallyctl} {each}" for each in commands))

    def _swanctl(self, command: str) -> str:
        return far.run(self._box, self._ssh, f"{self._ssh.swanctl} {command}")

    def spis(self) -> set[str]:
        return set(SPI.findall(self._sallyctl("xfrm state list")))

    def policies(self) -> int:
        return sum(_numbers(self._sallyctl("xfrm policy count")))

    def up(self) -> int:
        states, *policies = _numbers(self._sallyctl("xfrm state count", "xfrm policy count"))
        return min(states // 2, sum(policies) // POLICIES)

    def packets(self) -> dict[str, tuple[int, int]]:
        return packets_of(self._swanctl("--list-sas --raw"))

    def said_at(self, pattern: str, after: float = 0.0) -> float | None:
        return self._heard.said_at(pattern, after)

    def repeats(self) -> int:
        return self._heard.count(REPEATED)

    def forget(self) -> None:
        """Take all connections from charon, until it is heard to have the secret instead."""
        end = time.monotonic() + HEARD_S
        while not self._heard.count(HEARD):
            if time.monotonic() > end:
                raise far.Unanswered(f"{self._box.name}: '{self._ssh.swanctl} --log' says nothing of what charon loads")
            self.load(SECRET)
            time.sleep(POLL_S)
        self.load(SECRET)

    def clear(self) -> None:
        """End all IKE_SAs, and remove all SAs and policies from the box."""
        end = time.monotonic() + CLEAR_S
        while found := _IKE_SA.findall(self._swanctl("--list-sas --raw")):
            if time.monotonic() > end:
                raise far.Unanswered(
                    f"{self._box.name}: {len(found)} IKE_SAs are there after {CLEAR_S} s of --terminate"
                )
            with contextlib.suppress(far.Unanswered):  # the peer may have ended one meanwhile
                self._for_each("--terminate --force --ike-id", found)
        far.run(self._box, self._ssh, f"{self._ssh.sallyctl} -batch -", "".join(f"{line}\n" for line in FLUSH))

    def give_back(self) -> None:
        """Have charon load the box's own files."""
        self._swanctl(GIVE_BACK)


@contextlib.contextmanager
def remote(lab: Lab) -> Iterator[list[RemoteGateway]]:
    """Both without a connection, an SA or a policy. Behind the context charon has the connections
    of the box's own files."""
    made: list[RemoteGateway] = []
    try:
        for number, box, ssh in boxes.reached(lab):
            made.append(RemoteGateway(number, box, ssh))
        _empty(made)
        yield made
    finally:
        for each in made:
            leave(each)


def leave(gateway: RemoteGateway) -> None:
    """End what a test made at a box, whatever becomes of the other one. A box that keeps the test's
    secret is named, with the command that ends this."""
    with contextlib.suppress(far.Unanswered):  # which the test has said, or the next line will
        gateway.forget()
        gateway.clear()
    try:
        gateway.give_back()
    except far.Unanswered as error:
        print(f"sallyport: {error}: charon there may keep the test's secret; {gateway.advice}", file=sys.stderr)
    finally:
        gateway.close()


def _empty(made: list[RemoteGateway]) -> None:
    for each in made:
        each.forget()
    for each in made:
        each.clear()


def _numbers(text: str) -> list[int]:
    return [int(each) for each in re.findall(r"\d+", text)]


def reason(errors: str) -> str:
    """What swanctl says is wrong: its first line about that, since help may follow."""
    lines = [line for line in errors.splitlines() if line.strip() and not line.startswith(OURS)]
    return far.last(next((line for line in lines if "failed" in line or "error" in line), lines[-1] if lines else ""))
