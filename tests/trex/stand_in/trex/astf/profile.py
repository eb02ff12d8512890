# SPDX-License-Identifier: Apache-2.0
"""Profiles, with the checks that the real client makes when their objects are made, and those that
its server makes when traffic starts."""

import ipaddress
import itertools
import math

from ..stl.errors import STLError

LARGEST_MSS, SMALLEST_MSS = 9 * 1024, 10
TCP = {"mss", "initwnd", "rxbufsize", "txbufsize", "do_rfc1323", "delay_ack_msec", "no_delay"}
IPV6 = {"src_msb", "dst_msb", "enable"}


def verify(owner, name, value, *types):
    if value is None:
        raise STLError(f"{owner}: missing parameter {name}")
    if not isinstance(value, types):
        raise STLError(f"{owner}: argument {name} has type {type(value).__name__}, expected one of {types}")


class ASTFProgram:
    def __init__(self):
        self.steps = []

    def connect(self):
        self.steps.append(("connect", 0))

    def accept(self):
        self.steps.append(("connect", 0))

    def send(self, buf, size=0, fill=None):
        verify("ASTFProgram.send", "buf", buf, bytes, str)
        verify("ASTFProgram.send", "size", size, int)
        if fill is not None:
            verify("ASTFProgram.send", "fill", fill, bytes, str)
        self.steps.append(("send", max(len(buf), size)))

    def recv(self, bytes):
        verify("ASTFProgram.recv", "bytes", bytes, int)
        self.steps.append(("recv", bytes))

    def wait_for_peer_close(self):
        self.steps.append(("nc", 0))

    def bytes(self, kind):
        return sum(count for name, count in self.steps if name == kind)


class ASTFIPGenDist:
    def __init__(self, ip_range, distribution="seq"):
        first, last = (ipaddress.IPv4Address(each) for each in ip_range)
        if first > last:
            raise STLError("ASTFIPGenDist: bad IP range: Min IP is bigger than Max IP")
        if distribution not in ("seq", "rand"):
            raise STLError("Distribution must be one of ['seq', 'rand']")
        self.first, self.hosts = first, int(last) - int(first) + 1


class ASTFIPGenGlobal:
    def __init__(self, ip_offset="1.0.0.0"):
        self.offset = int(ipaddress.IPv4Address(ip_offset))


class ASTFIPGen:
    def __init__(self, dist_client, dist_server, glob=None):
        verify("ASTFIPGen", "dist_client", dist_client, ASTFIPGenDist)
        verify("ASTFIPGen", "dist_server", dist_server, ASTFIPGenDist)
        self.client, self.server = dist_client, dist_server
        self.offset = (glob or ASTFIPGenGlobal()).offset


class ASTFAssociationRule:
    def __init__(self, port=80):
        self.port = port


class ASTFTCPClientTemplate:
    def __init__(self, ip_gen, program=None, port=80, cps=1):
        verify("ASTFTCPClientTemplate", "ip_gen", ip_gen, ASTFIPGen)
        verify("ASTFTCPClientTemplate", "program", program, ASTFProgram)
        self.ip_gen, self.program, self.port, self.cps = ip_gen, program, port, cps


class ASTFTCPServerTemplate:
    def __init__(self, program=None, assoc=None):
        verify("ASTFTCPServerTemplate", "program", program, ASTFProgram)
        self.program, self.port = program, assoc.port if assoc else 80


class ASTFTemplate:
    def __init__(self, client_template=None, server_template=None):
        verify("ASTFTemplate", "client_template", client_template, ASTFTCPClientTemplate)
        verify("ASTFTemplate", "server_template", server_template, ASTFTCPServerTemplate)
        self.client, self.server = client_template, server_template


class Fields:
    """A part of ASTFGlobalInfo: it takes the names that there are, and whole numbers."""

    def __init__(self, name, names):
        object.__setattr__(self, "_about", (name, names))

    def __setattr__(self, name, value):
        part, names = self._about
        if name not in names:
            raise AttributeError(f"'{part}' has no attribute {name}")
        if name.endswith("_msb"):
            ipaddress.IPv6Address(value)
        elif type(value) is not int:
            raise AttributeError(f"{name} in {part} should have one of the following types: [<class 'int'>]")
        object.__setattr__(self, name, value)


class ASTFGlobalInfo:
    def __init__(self):
        self.tcp, self.ipv6 = Fields("GlobalInfo.tcp", TCP), Fields("GlobalInfo.ipv6", IPV6)


class ASTFProfile:
    def __init__(self, default_ip_gen, templates=None, default_c_glob_info=None, default_s_glob_info=None):
        verify("ASTFProfile", "default_ip_gen", default_ip_gen, ASTFIPGen)
        verify("ASTFProfile", "templates", templates, ASTFTemplate)
        self.template, self.info = templates, (default_c_glob_info, default_s_glob_info)

    def refused(self):
        """What the server says of it when traffic starts; nothing if it takes it."""
        for info in filter(None, self.info):
            mss = vars(info.tcp).get("mss", 1460)
            if not SMALLEST_MSS <= mss <= LARGEST_MSS:
                return f"tunable mss value {mss} is out of range {SMALLEST_MSS} to {LARGEST_MSS}"
        if self.template.client.port != self.template.server.port:
            return "no server template for the port of a client template"
        return ""

    def answers(self):
        """Bytes that a client waits for in a connection, if its server sends as many: else it waits
        for ever."""
        client, server = self.template.client.program, self.template.server.program
        fits = client.bytes("recv") == server.bytes("send") and server.bytes("recv") == client.bytes("send")
        return client.bytes("recv") if fits else math.inf

    def frames(self):
        """Of a connection, from its server: each of its sends in segments, and three more."""
        segment = self.info[1].tcp.mss - 12
        sends = [count for name, count in self.template.server.program.steps if name == "send"]
        return sum(-(-each // segment) for each in sends) + 3

    def addresses(self):
        """The first two clients and servers, of the first pair of ports."""
        gen = self.template.client.ip_gen
        return [str(first + at) for first, at in itertools.product((gen.client.first, gen.server.first), (0, 1))]
