# SPDX-License-Identifier: Apache-2.0
"""STLClient, and the states that its calls need and leave."""

import json
import os
import re
import time
from pathlib import Path

from . import world as worlds
from .errors import STLArgumentError, STLError, STLTypeError, validate
from .statistics import statistics
from .streams import STLStream

MULTIPLIER = re.compile(r"\d+(\.\d+)?(((k|m|g)?(bpsl1|pps|bps))|%)?")


class STLClient:
    mode = "stl"

    def __init__(self, username="user", server="localhost", sync_port=4501, async_port=4500):
        validate("server", server, str)
        validate("sync_port", sync_port, int)
        validate("async_port", async_port, int)
        self._user, self._server, self._sync = username, server, sync_port
        self._world = worlds.load()
        self._connected = False
        self._cause = ""
        self._calls = {}
        self._acquired, self._service, self._filtered, self._l3 = set(), set(), set(), {}
        self._streams, self._traffic, self._captures = {}, {}, []
        self._vlans = dict.fromkeys(range(len(self._world.ports)), self._world.old_vlan)

    # Every public call comes through here first.
    def _call(self, name, connected=True, **arguments):
        self._calls[name] = self._calls.get(name, 0) + 1
        if self._world.log:
            with Path(self._world.log).open("a") as log:
                log.write(json.dumps({"call": name, **arguments}, default=describe) + "\n")
        here = f"{name}:{self._calls[name]}"
        if self._world.die_at == here:
            print("Segmentation fault of the stand-in", flush=True)
            os._exit(139)
        if self._world.die_at == "lost:" + here:
            self._connected, self._cause = False, "subscriber timed out"
        if self._world.slow == here:
            time.sleep(30)
        if name in self._world.refuse:
            raise STLError(self._world.refuse[name])
        if connected and not self._connected:
            if self._cause:
                raise STLError(f"'{name}' - connection to the server had been lost: '{self._cause}'")
            raise STLError(f"'{name}' - is not valid while disconnected")

    def _ports(self, ports, acquired=False, idle=False, up=False):
        if not isinstance(ports, (list, tuple)):
            raise STLTypeError("ports", type(ports), list)
        if not ports:
            raise STLError("action requires at least one port")
        if len(set(ports)) < len(ports):
            raise STLError("duplicate port(s) are not allowed")
        for states, message in (
            ([p for p in ports if p not in range(len(self._world.ports))], "invalid port IDs"),
            ([p for p in ports if up and not self._world.ports[p].up], "link is DOWN"),
            ([p for p in ports if acquired and p not in self._acquired], "must be acquired"),
            ([p for p in ports if idle and self._active(p)], "are active"),
        ):
            if states:
                raise STLError(f"port(s) {states}: {message}")
        return ports

    def _active(self, port):
        return port in self._traffic and self._traffic[port].active()

    def is_connected(self):
        return self._connected

    def connect(self):
        self._call("connect", connected=False)
        if not self._world.reachable:
            raise STLError(f"*** [RPC] - Failed to get server response from tcp://{self._server}:{self._sync}")
        if self._world.mode != self.mode:
            raise STLError(
                f"RPC configuration mismatch - server RPC configuration: '{self._world.mode.upper()}', "
                f"client RPC configuration: '{self.mode.upper()}'"
            )
        if self._world.mismatch:
            raise STLError(
                "\x1b[1mVersion mismatch: your client version is too new to be supported by the server\x1b[0m"
            )
        self._connected = True

    def disconnect(self, stop_traffic=True, release_ports=True):
        self._call(
            "disconnect",
            connected=False,
            stop_traffic=stop_traffic,
            active=self.get_active(),
            release_ports=release_ports,
        )
        self._connected = False

    def get_active(self):
        return [port for port in self._traffic if self._active(port)]

    def get_server_version(self):
        self._call("get_server_version")
        return {"version": self._world.version, "mode": "STL"}

    def get_all_ports(self):
        self._call("get_all_ports")
        return list(range(len(self._world.ports)))

    def get_port_attr(self, port):
        self._call("get_port_attr", port=port)
        validate("port", port, int)
        return self._info(*self._ports([port]))

    def get_port_info(self, ports):
        self._call("get_port_info", ports=ports)
        return [self._info(port) for port in self._ports(ports)]

    def _info(self, number):
        port = self._world.ports[number]
        return {
            "link": "UP" if port.up else "DOWN",
            "speed": port.speed,
            "driver": port.driver,
            "src_mac": port.mac,
            "prom_supported": "yes" if port.promiscuous else "no",
            "is_virtual": "yes" if port.virtual else "no",
            "status": "TRANSMITTING" if self._active(number) else "IDLE",
            "arp": self._l3.get(number, "-"),
        }

    def acquire(self, ports, force=False):
        self._call("acquire", ports=ports, force=force)
        for port in self._ports(ports):
            owner = self._world.ports[port].owner
            if owner and not force:
                raise STLError(f"*** [RPC] - port is already taken by '{owner}'")
        self._acquired |= set(ports)

    def release(self, ports):
        self._call("release", ports=ports)
        self._acquired -= set(self._ports(ports, acquired=True))

    def set_port_attr(self, ports, promiscuous=None):
        self._call("set_port_attr", ports=ports, promiscuous=promiscuous)
        validate("promiscuous", promiscuous, (bool, type(None)))
        self._ports(ports, acquired=True)

    def set_service_mode(self, ports, enabled=True, filtered=False, mask=None):
        self._call("set_service_mode", ports=ports, enabled=enabled, filtered=filtered, mask=mask)
        validate("enabled", enabled, bool)
        validate("filtered", filtered, bool)
        validate("mask", mask, (type(None), int))
        if enabled and filtered:
            raise STLError("Cannot set service mode and filtered, choose one of them")
        if filtered != (mask is not None):
            raise STLError("Cannot set mask with filtered = False or the opposite, please supply both or neither")
        ports = set(self._ports(ports, acquired=True))
        if filtered and not self._world.software:
            raise STLError("TRex must be at --software mode for filtered service!")
        for port in ports:
            if not (enabled or filtered) and any(each and port in (*each[0], *each[3]) for each in self._captures):
                raise STLError(f"unable to disable service mode - an active capture on port {port} exists")
        self._service = self._service | ports if enabled else self._service - ports
        self._filtered = self._filtered | ports if filtered else self._filtered - ports

    def set_l3_mode(self, port, src_ipv4, dst_ipv4):
        self._call("set_l3_mode", port=port, src_ipv4=src_ipv4, dst_ipv4=dst_ipv4)
        self._ports([port], acquired=True)
        if port not in self._service:
            raise STLError(f"port(s) [{port}]: must be under service mode")
        if dst_ipv4 not in self._world.arp or self._vlans.get(port) != self._world.vlan:
            raise STLError(f"Could not resolve following ports: [{port}]")
        self._l3[port] = self._world.arp[dst_ipv4]

    def set_vlan(self, ports, vlan=None):
        self._call("set_vlan", ports=ports, vlan=vlan)
        validate("vlan", vlan, (type(None), int, list))
        for port in self._ports(ports, acquired=True, idle=True):
            if port not in self._service:
                raise STLError(f"port(s) [{port}]: must be under service mode")
            self._vlans[port] = (vlan[0] if isinstance(vlan, list) else vlan) if vlan else None

    def conf_ipv6(self, port, enabled, src_ipv6=None):
        self._call("conf_ipv6", port=port, enabled=enabled, src_ipv6=src_ipv6)
        self._ports([port], acquired=True)
        validate("enabled", enabled, bool)
        if port not in self._service:
            raise STLError(f"port(s) [{port}]: must be under service mode")
        raise STLError(f"Port {port} : *** Could not configure IPv6: IPv6 is not supported with current stack")

    def scan6(self, ports, timeout=3, verbose=False):
        self._call("scan6", ports=ports, timeout=timeout, verbose=verbose)
        for port in self._ports(ports, acquired=True):
            if port not in self._service:
                raise STLError(f"port(s) [{port}]: must be under service mode")
        nodes = [{"type": "Router", "mac": mac, "ipv6": address} for address, mac in self._world.neighbours.items()]
        return {port: nodes if self._vlans[port] == self._world.vlan else [] for port in ports}

    def remove_all_streams(self, ports):
        self._call("remove_all_streams", ports=ports)
        for port in self._ports(ports, acquired=True, idle=True):
            self._streams.pop(port, None)
            self._traffic.pop(port, None)

    def add_streams(self, streams, ports):
        self._call("add_streams", streams=streams, ports=ports)
        self._ports(ports, acquired=True, idle=True)
        if not isinstance(streams, list) or not all(isinstance(each, STLStream) for each in streams):
            raise STLArgumentError("streams", streams)
        for port in ports:
            for stream in streams:
                self._group_is_free(stream)
                self._streams.setdefault(port, []).append(stream)
        return list(range(1, len(streams) + 1))

    def _group_is_free(self, stream):
        """A group of latency streams is of one stream; others may share theirs."""
        if not stream.stats:
            return
        others = [each.stats for all_of in self._streams.values() for each in all_of if each.stats]
        same = [each for each in others if each.pg_id == stream.stats.pg_id]
        if any(each.latency or stream.stats.latency for each in same):
            raise STLError(f"Can't have two latency streams with same pg_id {stream.stats.pg_id}")
        if len([each for each in others if each.latency]) >= 128 and stream.stats.latency:
            raise STLError("Failed adding latency stream: no free counters")

    def clear_stats(self, ports):
        self._call("clear_stats", ports=ports)
        self._ports(ports)

    def start(self, ports, mult="1", force=False, duration=-1):
        self._call("start", ports=ports, mult=mult, duration=duration)
        self._ports(ports, acquired=True, idle=not force, up=not force)
        validate("mult", mult, str)
        validate("force", force, bool)
        validate("duration", duration, (int, float))
        if not MULTIPLIER.fullmatch(mult):
            raise STLArgumentError("mult", mult)
        for port in ports:
            if port in self._service and not force:
                raise STLError(f"port(s) [{port}]: cannot be under service mode - please disable service mode")
            if not self._streams.get(port):
                raise STLError(f"Port {port} : *** unable to start traffic - no streams attached to port")
            if self._service and self._world.hardware_counts and any(each.stats for each in self._streams[port]):
                raise STLError(f"Port {min(self._service)} is under service mode, can't use flow_stats.")
            if not all(stream.explicit_macs for stream in self._streams[port]):
                raise STLError(f"Port {port} dest MAC is invalid and there are streams without explicit dest MAC.")
            self._fits(port, float(mult), force)
        for port in ports:
            # a capture sees what streams send only on ports that are in one of the service modes
            seen = port in self._service | self._filtered
            self._traffic[port] = worlds.Traffic(self._world, self._streams[port], duration, seen)

    def push_remote(
        self, pcap_filename, ports=None, ipg_usec=None, speedup=1.0, count=1, duration=-1, is_dual=False,
        min_ipg_usec=None, force=False, src_mac_pcap=False, dst_mac_pcap=False,
    ):  # fmt: skip
        self._call("push_remote", pcap_filename=pcap_filename, ports=ports, ipg_usec=ipg_usec, force=force)
        self._ports(ports, acquired=True, idle=not force, up=not force)
        validate("pcap_filename", pcap_filename, str)
        validate("ipg_usec", ipg_usec, (float, int, type(None)))
        validate("count", count, int)
        if (speedup, count, duration, is_dual, min_ipg_usec) != (1.0, 1, -1, False, None) or not ipg_usec:
            raise STLError("the stand-in sends a file once, at a steady rate")
        for port in ports:
            if port in self._service and not force:
                raise STLError(
                    f"port(s) [{port}]: are under service mode - please disable service mode or specify 'force'"
                )
            if port not in self._l3 and not force:
                raise STLError(f"port(s) [{port}]: are unresolved - please resolve them or specify 'force'")
            if self._active(port):
                self._traffic[port].stop()
            # A file that is not there is nothing to send: its server says no word.
            file = Path(pcap_filename)
            self._traffic[port] = worlds.Pushed(self._world, file, ipg_usec / 1e6, src_mac_pcap and dst_mac_pcap)

    def _fits(self, port, factor, force):
        speed, bits = self._world.ports[port].speed, 0.0
        for each in self._streams[port]:
            bits += 8 * (len(each.packet.buffer) + 24) * each.mode.pps * (1 if worlds.fixed(each) else factor)
        if speed and bits > speed * 1e9 * (1 + 1e-9) and not force:
            raise STLError(f"Expected L1 B/W: '{bits / 1e9:g} Gbps' exceeds port line rate: '{speed:g} Gbps'")

    def update(self, ports, mult="1"):
        self._call("update", ports=ports, mult=mult)
        validate("mult", mult, str)
        if not MULTIPLIER.fullmatch(mult):
            raise STLArgumentError("mult", mult)
        for port in self._ports(ports, acquired=True):
            if not self._active(port):
                raise STLError(f"port(s) [{port}]: are not active")
            self._traffic[port].steps.append((self._traffic[port].now(), float(mult)))

    def stop(self, ports):
        self._call("stop", ports=ports, active=self.get_active())
        for port in self._ports(ports, acquired=True):
            if port in self._traffic:
                self._traffic[port].stop()

    def is_traffic_active(self, ports):
        self._call("is_traffic_active", ports=ports)
        return {port for port in self._ports(ports) if self._active(port)}

    def wait_on_traffic(self, ports, rx_delay_ms=None):
        self._call("wait_on_traffic", ports=ports, rx_delay_ms=rx_delay_ms)
        self._ports(ports, acquired=True)
        validate("rx_delay_ms", rx_delay_ms, (type(None), int))
        while any(self._active(port) for port in ports):
            self._pass(0.01)
        # The filters of received frames stay until so long after the traffic's end.
        delay = (10 if rx_delay_ms is None else rx_delay_ms) / 1000
        ends = [self._traffic[port].end() for port in ports if port in self._traffic]
        self._pass(max(0.0, max(ends, default=0.0) + delay - worlds.clock(self._world)))

    def _pass(self, seconds):
        if self._world.clock:  # time passes by itself for a client that only waits
            Path(self._world.clock).write_text(repr(worlds.clock(self._world) + seconds))
        else:
            time.sleep(seconds)

    def start_capture(self, tx_ports=None, rx_ports=None, limit=1000, bpf_filter=""):
        self._call("start_capture", tx_ports=tx_ports, rx_ports=rx_ports, limit=limit, bpf_filter=bpf_filter)
        self._ports([*(tx_ports or []), *(rx_ports or [])])
        validate("limit", limit, int)
        if bpf_filter not in ("", "udp", "vlan and udp"):
            raise STLError(f"BPF filter: '{bpf_filter}' is not a valid pattern")
        # no other port sees all frames
        received = [port for port in rx_ports or [] if port in self._service]
        self._captures.append((list(tx_ports or []), limit, bpf_filter, received))
        return {"id": len(self._captures), "ts": worlds.clock(self._world)}

    def fetch_capture_packets(self, capture_id, output, pkt_count=1000):
        self._call("fetch_capture_packets", capture_id=capture_id)
        if not 0 < capture_id <= len(self._captures) or self._captures[capture_id - 1] is None:
            raise STLError(f"capture ID {capture_id} does not exist")
        ports, limit, bpf_filter, received = self._captures[capture_id - 1]
        times = [
            (at, port)
            for port in ports
            if port in self._traffic
            for at in self._traffic[port].captured(bpf_filter, port in self._l3)
        ]
        found = [{"port": port, "origin": "TX", "ts": at} for at, port in sorted(times)]
        found += [{"port": port, "origin": "RX", "binary": data} for port in received for data in self._arrived(port)]
        output[:] = found[: min(limit, pkt_count)]

    def _arrived(self, port):
        """Frames that a box alone sends to a port; others send ARP there."""
        yield bytes.fromhex("ffffffffffff0200000009090806") + bytes(46)
        sending = self._traffic.get(1 - port)
        if isinstance(sending, worlds.Pushed):
            yield from sending.arrived()
        elif sending and self._world.sas:
            yield from (made for made in map(self._world.gateway.encrypt, sending.frames()) if made)

    def stop_capture(self, capture_id, output=None):
        self._call("stop_capture", capture_id=capture_id)
        validate("output", output, (type(None), str, list))
        if output is not None:
            self.fetch_capture_packets(capture_id, output)
        self._captures[capture_id - 1] = None

    def get_stats(self, ports):
        self._call("get_stats", ports=ports)
        self._ports(ports)
        return statistics(self._world, self._traffic)


def describe(value):
    """For the log: a stream by its packet, its program and its rate."""
    if isinstance(value, STLStream):
        return {
            "packet": value.packet.buffer.hex(),
            "vm": [[type(each).__name__, vars(each)] for each in value.packet.vm],
            "mode": vars(value.mode),
            "isg": value.isg,
            "pg_id": value.stats and value.stats.pg_id,
            "latency": bool(value.stats and value.stats.latency),
        }
    return str(value)
