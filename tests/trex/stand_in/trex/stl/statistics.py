# SPDX-License-Identifier: Apache-2.0
"""The answer of get_stats, in the real client's form: flow statistics and latency by group,
counters by port."""

from hdrh.histogram import HdrHistogram

from . import world as worlds


def statistics(world, traffic):
    flows, latency = {}, {}
    rx_of = {port: port ^ 1 for port in range(len(world.ports))}
    none = {"opackets": 0, "ipackets": world.strangers, "ierrors": world.ierrors, "oerrors": 0}
    counters = {port: dict(none) for port in rx_of}
    for port, sending in traffic.items():
        if isinstance(sending, worlds.Pushed):
            counters[port]["opackets"] += sending.pushed()
            counters[rx_of[port]]["ipackets"] += max(0, len(sending.arrived()) - world.lose.get("pushed", 0))
            continue
        waits = sending.waits()
        for stream, sent, arrived, dropped in zip(sending.streams, *sending.counts(), strict=True):
            if stream.stats is None:
                continue
            group = stream.stats.pg_id
            if not passes(world, port, stream):
                arrived = 0
            first_of_group = group not in flows
            row = flows.setdefault(group, {"tx_pkts": {0: 0, 1: 0, "total": 0}, "rx_pkts": {0: 0, 1: 0, "total": 0}})
            if not worlds.fixed(stream):
                arrived += world.extra
            lost = min(arrived, world.lose.get(str(group), 0)) if first_of_group else 0
            doubled = world.double.get(str(group), 0) if first_of_group else 0
            unsent, uncounted = (world.unsent, world.uncounted) if group < 16 and first_of_group else (0, 0)
            arrived += doubled - lost - unsent - uncounted
            known = 0 if world.sas else arrived  # ESP is of no group
            for field, at, count in (("tx_pkts", port, sent), ("rx_pkts", rx_of[port], known)):
                row[field][at] = row[field].get(at, 0) + count
                row[field]["total"] += count
            counters[port]["opackets"] += sent - unsent
            counters[rx_of[port]]["ipackets"] += arrived + uncounted
            if worlds.fixed(stream):
                latency[group] = delays(world, arrived, sending.active(), waits)
                # It tells a gap in the numbers by a later frame; and once it has none it
                # tells nothing.
                latency[group]["err_cntrs"] |= {"dropped": dropped + lost if arrived else 0, "dup": doubled}
    latency["global"] = {"old_flow": 0, "bad_hdr": world.bad_hdr}
    whole = {"cpu_util": world.cpu_util, "rx_cpu_util": world.rx_cpu_util, "queue_full": world.queue_full}
    return {**counters, "total": {}, "global": whole, "flow_stats": flows, "latency": latency}


def passes(world, port, stream):
    """A box takes the frames that are for it; a bump in the wire takes none and passes those for
    the far port."""
    wanted = world.ports[port ^ 1].mac if world.bridge else world.ports[port].box_mac
    return stream.packet.buffer[:6].hex(":") == wanted and stream.packet.buffer[6:12].hex(":") == world.ports[port].mac


def delays(world, frames, active, waits):
    """Latency in the real client's form: whole microseconds, buckets named by their lower ends,
    extremes of a window."""
    weight = sum(part for _, part in world.latency_us)
    histogram, left = {}, frames
    for value, part in world.latency_us[::-1]:
        count = min(left, frames * part // weight) if value != world.latency_us[0][0] else left
        left -= count
        if count:
            histogram[bucket(value)] = histogram.get(bucket(value), 0) + count
    values = [value for value, _ in world.latency_us]
    fine = {"hdrh": encoded(world, frames)} if world.hdrh else {}
    queued = filtered([1e6 * each for each in waits])
    seen = frames > 0
    return {
        "latency": {
            "average": queued + sum(value * part for value, part in world.latency_us) / weight if seen else "N/A",
            "total_min": min(values) if seen else "N/A",
            "total_max": 0,  # since the statistics were cleared, it is for the caller to keep it
            "last_max": max(values) if seen and active else 0,
            "jitter": 2,
            "histogram": histogram,
            **fine,
        },
        "err_cntrs": {
            "dropped": 0,
            "out_of_order": world.out_of_order,
            "dup": 0,
            "seq_too_high": 0,
            "seq_too_low": 0,
        },
    }


def filtered(halves):
    """The server's average: half of it is the last half second's, half is the average before."""
    average = halves[0] if halves else 0.0
    for each in halves[1:]:
        average = (average + each) / 2
    return average


def encoded(world, frames):
    """The histogram as --hdrh has it: whole microseconds up to 10 s, three digits, compressed and
    in base64."""
    made = HdrHistogram(1, 10_000_000, 3)
    weight, left = sum(part for _, part in world.latency_us), frames
    for value, part in world.latency_us[::-1]:
        count = left if value == world.latency_us[0][0] else min(left, frames * part // weight)
        left -= count
        if count:
            made.record_value(int(value), count)
    return made.encode().decode()


def bucket(value):
    """0, 10, 20 … 90, 100, 200 …"""
    if value < 10:
        return 0
    step = 10 ** (len(str(int(value))) - 1)
    return int(value) // step * step
