# SPDX-License-Identifier: Apache-2.0
"""Programs that the host behind the box runs in its namespace (`Host.python`)."""

# Sends echo requests 1 to COUNT with SIZE bytes, each when the one before was answered, and prints
# how many were, byte for byte.
PING = """
import random, socket, struct, sys
to, count, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
v6 = ":" in to
kind, answer = (128, 129) if v6 else (8, 0)
data = random.Random(size).randbytes(size)
family, protocol = (socket.AF_INET6, socket.IPPROTO_ICMPV6) if v6 else (socket.AF_INET, socket.IPPROTO_ICMP)
def checksum(body):
    total = sum(struct.unpack(f"!{len(body) // 2}H", body))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
answered = 0
with socket.socket(family, socket.SOCK_RAW, protocol) as raw:
    raw.settimeout(60)
    for number in range(1, count + 1):
        tail = struct.pack("!HH", 77, number) + data
        head = struct.pack("!BBH", kind, 0, 0)
        raw.sendto(head[:2] + struct.pack("!H", checksum(head + tail)) + tail, (to, 0))  # the kernel makes ICMPv6's own
        try:
            while True:
                packet, where = raw.recvfrom(65535)
                message = packet if v6 else packet[20:]
                if message[0] == answer and message[4:] == tail and where[0] == to:
                    answered += 1
                    break
        except TimeoutError:
            pass
print(answered)
"""

# Serves a folder at port 8000 of every address, of IPv4 and IPv6.
SERVE = """
import functools, http.server, socket, sys
class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6
    def server_bind(self):
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
with Server(("::", 8000), handler) as server:
    print("ready", flush=True)
    server.serve_forever()
"""

# Writes the content of a URL into a file.
FETCH = """
import shutil, sys, urllib.request
with urllib.request.urlopen(sys.argv[1], timeout=600) as answer, open(sys.argv[2], "wb") as file:
    shutil.copyfileobj(answer, file)
"""
