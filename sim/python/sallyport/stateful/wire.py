# SPDX-License-Identifier: Apache-2.0
"""How much of the wire a connection takes, so that loads in percent mean the same for connections
as for frames."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sallyport import limits
from sallyport.backend import Setup
from sallyport.errors import InputError
from sallyport.stateful.application import Application

TCP_BYTES, TIMESTAMPS = 20, 12  # the header, and the option of RFC 7323 with its padding
LEAST_SEGMENT = 64  # bytes of objects in a full frame
# SYN with ACK, the ACK of the client's FIN, and FIN: a server's frames without a byte of an object.
FRAMES_WITHOUT_DATA = 3


@dataclass(frozen=True)
class Wire:
    """Of connections of an application through a setup, whose frame size is that of a full segment.

    Servers send the more of the two sides. Its load counts as full frames: those that would take as
    much of the wire.
    """

    application: Application
    setup: Setup

    @property
    def frame(self) -> int:
        """Bytes of a full frame with its FCS; [InputError] for a mix, or a size without room."""
        if len(self.setup.mix) > 1:
            raise InputError("--frame-size: a stateful test has segments of one size; give one number of bytes")
        (size,) = self.setup.mix
        if size < (least := self._headers + LEAST_SEGMENT):
            raise InputError(f"--frame-size {size}: a stateful test needs {least} or more over IPv{self.setup.ip}")
        return size

    @property
    def mss(self) -> int:
        """What TCP is told (RFC 9293 3.7.1): bytes behind a TCP header without options."""
        return self.frame - self._headers + TIMESTAMPS

    @property
    def transaction_bytes(self) -> int:
        """Of the server's answer to a request."""
        return self.application.answer_bytes(self.setup.object_bytes)

    @property
    def answer_bytes(self) -> int:
        """Of all answers of a connection."""
        return self.application.transactions * self.transaction_bytes

    @property
    def _headers(self) -> int:
        """Bytes of a full frame that are of no object."""
        return limits.ETHERNET_BYTES + limits.IP_BYTES[self.setup.ip] + TCP_BYTES + TIMESTAMPS

    @property
    def _wire_bytes(self) -> int:
        """Of a connection from its server, with preambles and gaps."""
        frames = self.application.transactions * -(-self.transaction_bytes // (self.frame - self._headers))
        return self.answer_bytes + (frames + FRAMES_WITHOUT_DATA) * (self._headers + limits.SLOT_BYTES)

    @property
    def frames(self) -> Fraction:
        """Full frames that take as much of the wire as a connection."""
        return Fraction(self._wire_bytes, self.frame + limits.SLOT_BYTES)

    def connections(self, fps: Fraction) -> Fraction:
        """Connections a second that come to so many full frames."""
        return fps / self.frames
