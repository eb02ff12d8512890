// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/xfrm"
)

// The types of VLAN tags that the chips read over (docs/explanation/chips.md), and of IP.
var tagTypes = []uint16{0x8100, 0x88A8, 0x9100}

const (
	typeIPv4 = 0x0800
	typeIPv6 = 0x86DD
)

// Flow is what packets of a frame's kind have in common, to know them by. False if it has no
// IP packet.
func Flow(frame []byte) (xfrm.Selector, bool) { return ReadPacket(frame, xfrm.AllExtensionHeaders) }

// ReadPacket is the selector of exactly the IP packet in a frame, from the fields that the chips
// read in it (docs/explanation/chips.md). It is false without an IP packet, and of a later
// fragment; the chips punt such frames for other reasons than a policy.
func ReadPacket(frame []byte, skipped xfrm.ExtensionHeaders) (xfrm.Selector, bool) {
	head, packet, ok := SplitFrame(frame)
	if !ok {
		return xfrm.Selector{}, false
	}
	switch binary.BigEndian.Uint16(head[len(head)-typeBytes:]) {
	case typeIPv4:
		return readIPv4(packet)
	case typeIPv6:
		return readIPv6(packet, skipped)
	}
	return xfrm.Selector{}, false
}

const typeBytes = 2

// SplitFrame parts a frame behind its Ethernet header, which ends with the type of what follows.
// False if it is too short to have one.
func SplitFrame(frame []byte) (head, packet []byte, ok bool) {
	const addresses, tag = 12, 4
	at := addresses
	for len(frame) >= at+tag && slices.Contains(tagTypes, binary.BigEndian.Uint16(frame[at:])) {
		at += tag
	}
	if at += typeBytes; len(frame) < at {
		return nil, nil, false
	}
	return frame[:at], frame[at:], true
}

// Tagged is a frame with an outer VLAN tag of an ID (IEEE 802.1Q 9.6) more.
func Tagged(frame []byte, id uint16) []byte {
	const addresses = 12
	tag := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, tagTypes[0]), id)
	return slices.Concat(frame[:addresses], tag, frame[addresses:])
}

func readIPv4(packet []byte) (s xfrm.Selector, ok bool) {
	proto, payload, ok := payload4(packet)
	if !ok {
		return s, false
	}
	return packetSelector(packet[12:16], packet[16:20], proto, payload), true
}

const offset4 = 0x1FFF // in the field of flags and offset

// payload4 gives the bytes behind the header of a packet, without padding of its frame.
func payload4(packet []byte) (proto uint8, payload []byte, ok bool) {
	const least = 20
	if len(packet) < least {
		return 0, nil, false
	}
	header, total := int(packet[0]&15)*4, int(binary.BigEndian.Uint16(packet[2:]))
	if header < least || total < header || total > len(packet) || binary.BigEndian.Uint16(packet[6:])&offset4 != 0 {
		return 0, nil, false
	}
	return packet[9], packet[header:total], true
}

func readIPv6(packet []byte, skipped xfrm.ExtensionHeaders) (s xfrm.Selector, ok bool) {
	proto, payload, ok := payload6(packet, skipped)
	if !ok {
		return s, false
	}
	return packetSelector(packet[8:24], packet[24:40], proto, payload), true
}

// payload6 gives the bytes behind the headers that are skipped.
func payload6(packet []byte, skipped xfrm.ExtensionHeaders) (proto uint8, payload []byte, ok bool) {
	const header, unit, fragment = 40, 8, 44
	if len(packet) < header {
		return 0, nil, false
	}
	total := header + int(binary.BigEndian.Uint16(packet[4:]))
	if total > len(packet) {
		return 0, nil, false
	}
	next, rest := packet[6], packet[header:total]
	for skipped.Skips(next) {
		if len(rest) < unit {
			return 0, nil, false
		}
		size := unit
		later := next == fragment && binary.BigEndian.Uint16(rest[2:])>>3 != 0
		if next != fragment {
			size += unit * int(rest[1])
		}
		if later || len(rest) < size {
			return 0, nil, false
		}
		next, rest = rest[0], rest[size:]
	}
	return next, rest, true
}

// packetSelector is that of a packet. Of one that is too short for its ports or its type nothing
// can be read.
func packetSelector(src, dst []byte, proto uint8, payload []byte) xfrm.Selector {
	host := func(octets []byte) netip.Prefix {
		addr, _ := netip.AddrFromSlice(octets)
		return netip.PrefixFrom(addr, addr.BitLen())
	}
	s := xfrm.Selector{Src: host(src), Dst: host(dst), Proto: proto}
	switch {
	case len(payload) < 4:
		s.Opaque = true
	case xfrm.HasPorts(proto):
		s.SPort, s.DPort = xfrm.One(binary.BigEndian.Uint16(payload)), xfrm.One(binary.BigEndian.Uint16(payload[2:]))
	case xfrm.HasCode(proto, s.Version()):
		s.Type, s.Code = xfrm.One(uint16(payload[0])), xfrm.One(uint16(payload[1]))
	case xfrm.HasType(proto, s.Version()):
		s.Type = xfrm.One(uint16(payload[2]))
	default:
		s.Opaque = true
	}
	return s
}
