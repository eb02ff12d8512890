# SPDX-License-Identifier: Apache-2.0
"""A socket for each card of a box, beside that of its registers, with one client at a time."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sallyport.errors import CheckFailed, InputError
from sallyport.pcie.box import CHIPS, Box, shell_registers
from sallyport.pcie.card import Card
from sallyport.pcie.config_space import ConfigSpace
from sallyport.pcie.identity import identity
from sallyport.pcie.session import Session
from sallyport.pcie.wire import Channel, ConnectionEnds

LONGEST_PATH = 107  # bytes that Linux has for a socket's


@contextmanager
def cards(
    registers: Path, log: Callable[[str], object], gone: threading.Event
) -> Iterator[tuple[dict[str, Path], Callable[[], None]]]:
    """Serves the cards of the box at `registers`: the path of each card's socket, and a function
    that raises [CheckFailed] when the simulation has ended. The sockets go with the block. `log`
    takes a sentence, from any thread. While `gone` is set the cards are not on the bus."""
    ends: queue.Queue[CheckFailed] = queue.Queue()
    paths = {chip: registers.with_suffix(f".{chip}.vfio") for chip in CHIPS}
    with ExitStack() as stack:
        for chip, path in paths.items():
            box = Box(registers)
            stack.callback(box.close)
            box.require_shells()
            config = ConfigSpace(identity(box.read(chip, shell_registers()["board"]) or 0, chip))
            card = Card(chip, box, lambda sentence, chip=chip: log(f"{chip} card: {sentence}"))
            listener = stack.enter_context(_listener(path))
            threading.Thread(target=_serve, args=(listener, chip, card, config, log, ends, gone), daemon=True).start()

        def wait() -> None:
            raise ends.get()

        yield paths, wait


@contextmanager
def _listener(path: Path) -> Iterator[socket.socket]:
    if len(str(path).encode()) > LONGEST_PATH:
        raise InputError(f"the path of socket {path} has more than {LONGEST_PATH} bytes: choose a shorter folder")
    with socket.socket(socket.AF_UNIX) as listener:
        try:
            if _is_left(path):
                path.unlink()
            listener.bind(str(path))
            listener.listen()
        except OSError as error:
            raise InputError(
                f"socket {path} cannot be made: {error.strerror or error}; is this box served already?"
            ) from None
        try:
            yield listener
        finally:
            path.unlink(missing_ok=True)


def _is_left(path: Path) -> bool:
    """A socket that no process listens at any more."""
    if not path.is_socket():
        return False
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return True
    return False


def _serve(
    listener: socket.socket,
    chip: str,
    card: Card,
    config: ConfigSpace,
    log: Callable[[str], object],
    ends: queue.Queue[CheckFailed],
    gone: threading.Event,
) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return  # closed
        with connection:
            try:
                Session(Channel(connection), card, config, gone).run()
            except ConnectionEnds as end:
                log(f"{chip} card: the connection of a client ends, because {end}")
            except CheckFailed as failure:
                ends.put(failure)
                return
