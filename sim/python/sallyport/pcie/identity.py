# SPDX-License-Identifier: Apache-2.0
"""What a card says that it is: the properties of the PCIe block that its bitstream is built with
(boards/ip/pcie4_uscale_plus.yaml, boards/data)."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from boards.board import Board
from boards.ip import instances
from sallyport.errors import InputError

SPEEDS = {"2.5_GT/s": 1, "5.0_GT/s": 2, "8.0_GT/s": 3}  # as the link capabilities number them
UNITS = {"Bytes": 1, "Kilobytes": 1 << 10, "Megabytes": 1 << 20}


@dataclass(frozen=True)
class Identity:
    """Fields of the configuration space. `bar_bytes` is the size of BAR 0; `link_speed` and
    `max_payload` (0 for 128 bytes, 3 for 1,024) are codes of the PCI Express capability."""

    vendor: int
    device: int
    class_code: int
    subsystem_vendor: int
    subsystem: int
    bar_bytes: int
    link_speed: int
    link_width: int
    max_payload: int
    extended_tag: int


@functools.cache
def identity(board_number: int, chip: str) -> Identity:
    """That of a chip's card on the board with that `id`."""
    for name in Board.names():
        board = Board.load(name)
        if board.raw["id"] == board_number:
            return _of(next(ip.config for ip in instances(board, chip) if ip.ip == "pcie4_uscale_plus"))
    raise InputError(f"the {chip} card says that it is board {board_number}, and no file of boards/data has that id")


def _of(config: dict[str, str]) -> Identity:
    if "true" in (config["pf0_bar0_64bit"], config["pf0_bar0_prefetchable"]):
        raise InputError("boards/ip/pcie4_uscale_plus.yaml: BAR 0 must have 32 bits and not be prefetchable here")
    return Identity(
        vendor=int(config["vendor_id"], 16),
        device=int(config["PF0_DEVICE_ID"], 16),
        class_code=int(config["PF0_CLASS_CODE"], 16),
        subsystem_vendor=int(config["PF0_SUBSYSTEM_VENDOR_ID"], 16),
        subsystem=int(config["PF0_SUBSYSTEM_ID"], 16),
        bar_bytes=int(config["pf0_bar0_size"]) * UNITS[config["pf0_bar0_scale"]],
        link_speed=SPEEDS[config["PL_LINK_CAP_MAX_LINK_SPEED"]],
        link_width=int(config["PL_LINK_CAP_MAX_LINK_WIDTH"].removeprefix("X")),
        max_payload=(int(config["pf0_dev_cap_max_payload"].removesuffix("_bytes")) // 128).bit_length() - 1,
        extended_tag=int(config["extended_tag_field"] == "true"),
    )
