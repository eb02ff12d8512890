# SPDX-License-Identifier: Apache-2.0
"""What clients and servers of a stateful test say to each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

HTTP_GET = (
    b"GET /object HTTP/1.1\r\nHost: sallyport.test\r\nUser-Agent: sallyport\r\nAccept: */*\r\n"
    b"Connection: keep-alive\r\n\r\n"
)


@dataclass(frozen=True)
class Application:
    """A client that asks for objects, one after the other in each connection, and closes it."""

    request: bytes
    header: Callable[[int], bytes]  # in front of an object of so many bytes
    transactions: int  # of a connection
    object_bytes: int  # unless the command says otherwise
    connections: bool  # whether it counts connections, or else what the objects come to

    def answer_bytes(self, object_bytes: int) -> int:
        """Of one transaction, from the server."""
        return len(self.header(object_bytes)) + object_bytes


def _http(size: int) -> bytes:
    return (
        f"HTTP/1.1 200 OK\r\nServer: sallyport\r\nContent-Type: application/octet-stream\r\nContent-Length: {size}\r\n\r\n"
    ).encode()


def _nothing(_: int) -> bytes:
    return b""


TESTS: dict[str, Application] = {
    "http-connections": Application(HTTP_GET, _http, 1, 1024, connections=True),  # RFC 9411 7.2
    "http-throughput": Application(HTTP_GET, _http, 10, 65_536, connections=False),  # RFC 9411 7.3
    # one large object each, as of a file that is copied
    "tcp-throughput": Application(b"\n", _nothing, 1, 1_048_576, connections=False),
}
