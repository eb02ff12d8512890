# SPDX-License-Identifier: Apache-2.0
"""Programs that hosts of a test run in their namespaces (`Host.python`)."""

# Sends echo requests 1 to N, one every 20 ms, and prints how many different ones were answered.
PING = """
import socket, struct, sys, time
to, count = sys.argv[1], int(sys.argv[2])
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
raw.settimeout(60)
for number in range(1, count + 1):
    body = struct.pack("!HH", 77, number) + bytes(range(56))
    total = 0x800 + sum(struct.unpack("!30H", body))
    total = (total & 0xFFFF) + (total >> 16)
    raw.sendto(struct.pack("!BBH", 8, 0, ~(total + (total >> 16)) & 0xFFFF) + body, (to, 0))
    time.sleep(0.02)
answered = set()
try:
    while len(answered) < count:
        packet = raw.recv(2000)[20:]
        if packet[0] == 0 and packet[4:6] == struct.pack("!H", 77) and packet[8:] == bytes(range(56)):
            answered.add(packet[6:8])
except TimeoutError:
    pass
print(len(answered))
"""

# Sends an echo request to each address, one every 20 ms, and prints how many of them answered.
PING_EACH = """
import socket, struct, sys, time
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
raw.settimeout(60)
request = struct.pack("!BBHHH", 8, 0, ~(0x800 + 77 + 1) & 0xFFFF, 77, 1)
for to in sys.argv[1:]:
    raw.sendto(request, (to, 0))
    time.sleep(0.02)
wanted, answered = set(sys.argv[1:]), set()
try:
    while answered < wanted:
        packet, (source, _) = raw.recvfrom(2000)
        if packet[20:] == struct.pack("!BBHHH", 0, 0, ~(77 + 1) & 0xFFFF, 77, 1):
            answered.add(source)
except TimeoutError:
    pass
print(len(answered & wanted))
"""

# Sends three datagrams to port 9 of an address.
SEND = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
    udp.bind(("", 40000))
    for _ in range(3):
        udp.sendto(b"in clear", (sys.argv[1], 9))
"""

# Sends a datagram with a TTL, every 20 s until the kernel hears of an error; prints type, code, and
# who said it.
HEAR = """
import select, socket, struct, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
    udp.setsockopt(socket.IPPROTO_IP, 11, 1)  # IP_RECVERR
    udp.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, int(sys.argv[2]))
    heard = select.poll()
    heard.register(udp, select.POLLERR)
    for _ in range(10):
        udp.sendto(b"abc", (sys.argv[1], 9))
        if heard.poll(20_000):
            _, about, _, _ = udp.recvmsg(100, 500, socket.MSG_ERRQUEUE)
            (error,) = [data for _, kind, data in about if kind == 11]
            print(*struct.unpack("BB", error[5:7]), socket.inet_ntoa(error[20:24]))
            break
"""
