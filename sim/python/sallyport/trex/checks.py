# SPDX-License-Identifier: Apache-2.0
"""What can be known before the first packet: each of these ends with [InputError] and says what,
where and what to do."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv6Address

from sallyport import limits
from sallyport.backend import Setup, Trial
from sallyport.errors import InputError
from sallyport.simulator import CORE_MHZ
from sallyport.trex import frames
from sallyport.trex.lab import REKEY, Lab, TesterPort
from sallyport.trex.process import STATEFUL, Client, Refused, folder
from sallyport.trex.streams import MOST_LATENCY_STREAMS
from sallyport.tunnels import MAX_TUNNELS

SHORTEST_NS = 100_000_000  # of a trial that TRex begins and ends
# How a server is started, for tests of frames and for tests of connections.
STL_START, ASTF_START = "'./t-rex-64 -i', without --astf", "'./t-rex-64 -i --astf'"


def setup(lab: Lab, asked: Setup) -> None:
    """Whether a setup is one that this tester offers at all, and whether its frames fit
    TRex's ports."""
    if asked.rekeys and REKEY not in lab.boxes[0].commands:
        raise InputError(
            f"--rekeys: {lab.file} has no command that rekeys the boxes; write boxes[0].commands.{REKEY} there, or leave it out"
        )
    if asked.tables != "standard":
        raise InputError(f"--tables {asked.tables}: these are tables of simulated chips; leave it out")
    if asked.chips != "core":
        raise InputError(f"--chips {asked.chips}: it says what of simulated chips runs; leave it out")
    if asked.core_mhz != CORE_MHZ[1]:
        raise InputError(f"--core-mhz {asked.core_mhz:g}: it is the clock of simulated chips; leave it out")
    if not 1 <= asked.sas <= MAX_TUNNELS:
        raise InputError(f"--sas {asked.sas}: choose 1 to {MAX_TUNNELS}")
    most = MOST_LATENCY_STREAMS // len(lab.ends)
    if len(asked.suites) > most:
        raise InputError(f"--suite: TRex has latency streams for {most} suites a port; choose fewer")
    for size in sorted(asked.mix):
        if size - limits.ETHERNET_BYTES > lab.mtu:
            raise InputError(
                f"--frame-size {size}: its packet of {size - limits.ETHERNET_BYTES} B exceeds the MTU of TRex's ports, {lab.mtu} B; "
                f"choose at most {lab.mtu + limits.ETHERNET_BYTES}, or raise port_mtu in TRex's trex_cfg.yaml and mtu in {lab.file}"
            )
        for end in lab.ends[:1] if lab.alone else lab.ends:  # ESP has no size of its own
            frames.check(size, asked.ip, end.vlan)
    if asked.measure_ns < SHORTEST_NS:
        raise InputError(
            f"a measured interval of {asked.measure_ns / 1e9:g} s is too short for a real tester; choose {SHORTEST_NS / 1e9:g} s or more "
            "(RFC 2544 24: 60 s)"
        )


def boxes(lab: Lab, asked: Setup) -> None:
    """Whether the lab has the boxes of a setup, and sends to them from each side that it wants."""
    if asked.boxes != (1 if lab.alone else 2):
        has, choice = ("a box alone", 1) if lab.alone else ("boxes two by two", 2)
        raise InputError(f"--boxes {asked.boxes}: {lab.file} lists {has}; choose --boxes {choice}, or another lab file")
    if not lab.alone:
        return
    if asked.direction != "encrypt" and not lab.tester.captures:
        raise InputError(
            f"--direction {asked.direction}: a box alone decrypts what TRex's server reads from a file; name a folder for it in {lab.file} "
            "(trex.captures), or choose --direction encrypt"
        )
    for size in sorted(asked.mix):
        outer = max(limits.esp_frame_bytes(size, suite, asked.mode, asked.ip, asked.nat_t) for suite in asked.suites)
        if outer - limits.ETHERNET_BYTES > lab.mtu:
            raise InputError(
                f"--frame-size {size}: its ESP packet of {outer - limits.ETHERNET_BYTES} B exceeds the MTU of TRex's ports, {lab.mtu} B; "
                f"choose a smaller one, or raise port_mtu in TRex's trex_cfg.yaml and mtu in {lab.file}"
            )


def reset(lab: Lab, kind: str, interactive: Callable[[], bool]) -> None:
    """Whether box 0 can be reset so, now: a person is asked for it in a terminal."""
    if kind in lab.boxes[0].commands:
        return
    if kind not in lab.resets:
        raise InputError(
            f"--reset {kind}: {lab.file} does not list it (resets: [{', '.join(lab.resets)}]); add it there"
        )
    if not interactive():
        raise InputError(
            f"--test reset: an operator is asked for the {kind} reset; run this in a terminal, write boxes[0].commands in "
            f"{lab.file}, or name the other tests"
        )


def trial(lab: Lab, asked: Trial, interactive: Callable[[], bool]) -> None:
    """Whether this trial can be made."""
    if asked.attack and not lab.alone:
        raise InputError(
            f"--attack {asked.attack}: TRex is on the red side and cannot attack from the black one; use a lab of one box"
        )
    if asked.reset:
        reset(lab, asked.reset, interactive)
    if asked.burst is not None and asked.burst < 1:
        raise InputError(f"a burst of {asked.burst} frames: choose 1 or more")
    mean = limits.mean_frame(asked.setup.mix)
    most = limits.line_rate_fps(mean, lab.line_rate_gbps)
    for fps in (asked.fps, asked.then_fps or asked.fps):
        if fps > most:
            raise InputError(
                f"{float(fps):,.0f} frames of {float(mean):g} B a second: a port of {lab.line_rate_gbps} Gb/s carries "
                f"{float(most):,.0f}; choose --load 100 or less"
            )


def connect(lab: Lab, client: Client) -> str:
    """Reach the server, and check its version against the lab file; returns the version."""
    tester = lab.tester
    kind, start = ("ASTFClient", ASTF_START) if client.mode == STATEFUL else ("STLClient", STL_START)
    client.call(
        kind, server=tester.host, sync_port=tester.sync_port, async_port=tester.async_port, username="sallyport"
    )
    try:
        client.call("connect")
    except Refused as error:
        if "mismatch" in str(error).lower():
            raise InputError(
                f"{lab.where} and the client in {folder(lab)} do not fit together ({error}); run the server as {start}, "
                "and take the client of the same release"
            ) from None
        raise InputError(
            f"{lab.where} cannot be reached ({error}); start it there with {start}, and see that TCP ports {tester.sync_port} and "
            f"{tester.async_port} are open"
        ) from None
    version = str(client.call("get_server_version").get("version", "unknown"))
    if version != tester.version and not version.startswith(tester.version + "."):
        raise InputError(
            f"{lab.where} is of version {version}, and {lab.file} wants {tester.version}; run that one, or change trex.version there"
        )
    return version


def ports(lab: Lab, client: Client) -> dict:
    """See that the ports are there, up, idle and where the lab file says; then take them. Their
    driver and addresses."""
    there = client.call("get_all_ports")
    for end in lab.ends:
        if end.port not in there:
            raise InputError(
                f"{lab.where} has no port {end.port}, only {', '.join(map(str, there))}; correct boxes in {lab.file}, "
                "or TRex's trex_cfg.yaml"
            )
    there = client.call("get_port_info", ports=lab.ports)
    for end, info in zip(lab.ends, there, strict=True):
        where = f"{lab.where}, port {end.port} ({end.what})"
        if info["link"] != "UP":
            raise InputError(f"{where}: its link is down; see whether the box runs and the cable is in")
        if info["src_mac"].lower() != end.mac:
            raise InputError(
                f"{where}: it has MAC {info['src_mac']}, and {lab.file} says {end.mac}; correct the file, or the cabling"
            )
        # 0: TRex does not know.
        if info["speed"] and float(info["speed"]) != lab.line_rate_gbps:
            raise InputError(
                f"{where}: it runs at {float(info['speed']):g} Gb/s, and {lab.file} says line_rate_gbps: {lab.line_rate_gbps}; "
                "write its rate there (loads are percent of it), or correct the cable or the port"
            )
        if lab.promiscuous and info["prom_supported"] != "yes":
            raise InputError(f"{where}: it cannot be promiscuous; write promiscuous: false in {lab.file}")
    _take(lab, client)
    drivers = dict.fromkeys(str(info.get("driver", "unknown")) for info in there)
    return {"driver": ", ".join(drivers), "ports": [end.mac for end in lab.ends]}


def _take(lab: Lab, client: Client) -> None:
    """Take the ports, and leave nothing of an earlier user there. A stateful server has one user of
    all its ports."""
    ports = {} if client.mode == STATEFUL else {"ports": lab.ports}
    try:
        client.call("acquire", force=lab.tester.force, **ports)
    except Refused as error:
        raise InputError(
            f"{lab.where}: ports {' and '.join(map(str, lab.ports))} cannot be taken ({error}); wait until their user releases them, "
            f"or write force: true under trex in {lab.file}"
        ) from None
    try:
        if lab.tester.force:
            client.call("stop", **ports)
        if client.mode == STATEFUL:
            client.call("clear_profile")
        else:
            client.call("remove_all_streams", **ports)
        if lab.promiscuous:
            client.call("set_port_attr", ports=lab.ports, promiscuous=True)
    except Refused as error:
        raise InputError(f"{lab.where}: its ports cannot be prepared ({error}); see TRex's console there") from None


def next_hop(lab: Lab, client: Client, end: TesterPort) -> str:
    """The MAC of the box's port, as the lab file has it or as ARP says."""
    if end.next_hop:
        return end.next_hop
    try:
        client.call("set_service_mode", ports=[end.port], enabled=True)
        try:
            # none, too: the server keeps what an earlier lab set
            client.call("set_vlan", ports=[end.port], vlan=[end.vlan] if end.vlan else [])
            if not end.address:
                return _neighbour(client, end)
            client.call("set_l3_mode", port=end.port, src_ipv4=end.address, dst_ipv4=end.gateway)
            return str(client.call("get_port_attr", port=end.port)["arp"])
        finally:
            client.call("set_service_mode", ports=[end.port], enabled=False)
    except Refused as error:
        asked = "ARP" if end.address else "neighbour discovery"
        raise InputError(
            f"{lab.where}, port {end.port}: no host answers {asked} for {end.gateway} ({error}); see the box's address, "
            f"or write its MAC as next_hop in {lab.file}"
        ) from None


def _neighbour(client: Client, end: TesterPort) -> str:
    """The MAC of the IPv6 node on a port that has the gateway's link-local address.

    TRex asks from an address that it makes of its MAC. Only its Linux stack could be given one.
    """
    found = client.call("scan6", ports=[end.port])
    for node in found.get(str(end.port), []):
        if IPv6Address(node["ipv6"]) == IPv6Address(end.gateway):
            return str(node["mac"]).lower()
    raise Refused("no node on the link has it")
