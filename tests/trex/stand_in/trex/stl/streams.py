# SPDX-License-Identifier: Apache-2.0
"""Streams and what they are made of, as strict about their arguments as the real ones."""

from .errors import STLArgumentError, STLError, STLTypeError, validate

LARGEST = 9 * 1024
NUMBER = (int, float)


class Mode:
    def __init__(self, pps=None, bps_L1=None, bps_L2=None, percentage=None):  # noqa: N803 - the API's names
        given = [each for each in (pps, bps_L1, bps_L2, percentage) if each is not None]
        if len(given) != 1:
            raise STLError(f"exactly one parameter from {given} should be provided")
        validate("pps", pps, NUMBER)
        if pps <= 0:
            raise STLArgumentError("pps", pps)
        self.pps = float(pps)


class STLTXCont(Mode):
    total_pkts = None


class STLTXSingleBurst(Mode):
    def __init__(self, total_pkts=1, **rate):
        validate("total_pkts", total_pkts, int)
        if total_pkts < 1:
            raise STLArgumentError("total_pkts", total_pkts)
        super().__init__(**rate)
        self.total_pkts = total_pkts


class FlowStats:
    latency = False

    def __init__(self, pg_id, vxlan=False, ieee_1588=False):  # noqa: ARG002
        validate("pg_id", pg_id, int)
        if not 0 <= pg_id < 2**32:
            raise STLArgumentError("pg_id", pg_id)
        self.pg_id = pg_id


class STLFlowStats(FlowStats):
    pass


class STLFlowLatencyStats(FlowStats):
    latency = True


class STLVmFlowVar:
    def __init__(self, name, init_value=None, min_value=0, max_value=255, size=4, step=1, op="inc"):
        validate("name", name, str)
        if size not in (1, 2, 4, 8):
            raise STLError(f"size {size} should be one of 1, 2, 4, 8")
        if op not in ("inc", "dec", "random"):
            raise STLError(f"op {op} should be inc, dec or random")
        if not 0 <= min_value < max_value < 256**size:
            raise STLError(f"min_value {min_value} and max_value {max_value} do not fit {size} bytes")
        self.name, self.size, self.op, self.low, self.high, self.step = name, size, op, min_value, max_value, step
        self.init_value = init_value


class STLVmWrFlowVar:
    def __init__(self, fv_name, pkt_offset, offset_fixup=0, add_val=0, is_big=True):
        validate("fv_name", fv_name, str)
        validate("pkt_offset", pkt_offset, int)
        validate("add_val", add_val, int)
        validate("is_big", is_big, bool)
        self.name, self.at = fv_name, pkt_offset + offset_fixup


class STLVmFixIpv4:
    def __init__(self, offset):
        validate("offset", offset, int)
        self.at = offset


class STLVmFixChecksumHw:
    """Of a UDP datagram alone, by the NIC or in software."""

    def __init__(self, l3_offset, l4_offset, l4_type):
        for name, value in (("l3_offset", l3_offset), ("l4_offset", l4_offset), ("l4_type", l4_type)):
            validate(name, value, int)
        if l4_type != 11:
            raise STLError("the stand-in corrects UDP")
        if l3_offset < 14 or l4_offset - l3_offset < 20:
            raise STLError(f"fix hw offset l3 {l4_offset - l3_offset} is lower than 20")
        self.at, self.udp = l3_offset, l4_offset


class STLPktBuilder:
    """Of a frame in bytes alone; without the FCS, which the port adds."""

    def __init__(self, pkt=None, pkt_buffer=None, vm=None):
        validate("pkt", pkt, type(None))
        validate("pkt_buffer", pkt_buffer, bytes)
        if not 60 <= len(pkt_buffer) <= LARGEST - 4:
            raise STLError(f"packet of {len(pkt_buffer)} bytes is not supported")
        if vm is not None and not isinstance(vm, list):
            raise STLError("Bad value for variable vm.")
        self.buffer, self.vm = pkt_buffer, vm or []
        sizes = {each.name: each.size for each in self.vm if isinstance(each, STLVmFlowVar)}
        for each in self.vm:
            if isinstance(each, STLVmWrFlowVar):
                if each.name not in sizes:
                    raise STLError(f"variable '{each.name}' does not exist")
                if each.at + sizes[each.name] > len(pkt_buffer):
                    raise STLError(f"writing variable '{each.name}' at {each.at} passes the end of the packet")
            elif isinstance(each, STLVmFixIpv4):
                if pkt_buffer[each.at - 2 : each.at + 1] != bytes.fromhex("080045"):
                    raise STLError(f"there is no IPv4 header at {each.at}")
            elif isinstance(each, STLVmFixChecksumHw):
                if pkt_buffer[each.at] >> 4 != 6 or pkt_buffer[each.at + 6] != 17 or each.udp != each.at + 40:
                    raise STLError(f"there is no IPv6 header of a UDP datagram at {each.at}")
            elif not isinstance(each, STLVmFlowVar):
                raise STLTypeError("vm", type(each), "instructions")


class STLStream:
    def __init__(
        self,
        name=None,
        packet=None,
        mode=None,
        enabled=True,
        self_start=True,
        isg=0.0,
        flow_stats=None,
        mac_src_override_by_pkt=None,
        mac_dst_override_mode=None,
    ):
        validate("name", name, (type(None), int, str))
        validate("packet", packet, STLPktBuilder)
        validate("mode", mode, Mode)
        validate("flow_stats", flow_stats, (type(None), FlowStats))
        validate("enabled", enabled, bool)
        validate("self_start", self_start, bool)
        validate("isg", isg, NUMBER)
        if flow_stats and flow_stats.latency:
            start = 18 if packet.buffer[12:14] == b"\x81\x00" else 14
            headers = start + (20 if packet.buffer[start - 2 : start] == b"\x08\x00" else 40) + 8
            if len(packet.buffer) - headers < 16:
                raise STLError("a latency stream's packet must have 16 bytes of payload")
        if isg < 0:
            raise STLArgumentError("isg", isg)
        self.packet, self.mode, self.stats, self.isg = packet, mode, flow_stats, isg  # µs
        self.explicit_macs = bool(mac_src_override_by_pkt) and mac_dst_override_mode == 1
