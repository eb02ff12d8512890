// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"
)

const (
	leastMTU4 = 68   // RFC 791
	leastMTU6 = 1280 // RFC 8200, 5; no host sends less for a message that says so (RFC 8201, 4)
	// The longest messages, with their own IP header (RFC 1812, 4.3.2.3; RFC 4443, 2.4 c).
	most4, most6   = 576, leastMTU6
	header4        = 20
	header6        = 40
	headerICMP     = 8
	hopLimit       = 64
	dontFragment   = 0x40 // in the byte of the flags
	networkControl = 0xC0 // precedence 6, as RFC 1812, 4.3.2.5, has it
)

// TooBig is the frame that tells the sender of a packet that it is longer than `mtu`: ICMP type 3
// code 4 with the MTU (RFC 1191, 4), or ICMPv6 Packet Too Big (RFC 4443, 3.2). It goes to the
// station that sent the packet behind the Ethernet header `head`, in the same VLANs. Its source is
// the IP address `from`, of the packet's version.
//
// It is false if the data is not an IP packet, may be fragmented, or fits the MTU. Over IPv6 the
// MTU is at least 1280. The caller checks that the packet's own addresses may be answered.
func TooBig(head, packet []byte, from netip.Addr, mtu uint32) (frame []byte, ok bool) {
	if len(packet) < header4 || head[0]&1 != 0 || head[6]&1 != 0 { // of many stations
		return nil, false
	}
	frame = append(append(append(frame, head[6:12]...), head[:6]...), head[12:]...)
	switch packet[0] >> 4 {
	case ipv4.Version:
		length := uint32(binary.BigEndian.Uint16(packet[2:]))
		if mtu = max(mtu, leastMTU4); length <= mtu || packet[6]&dontFragment == 0 {
			return nil, false
		}
		return append(frame, tooBig4(packet, from, mtu)...), true
	case ipv6.Version:
		if mtu = max(mtu, leastMTU6); len(packet) < header6 || uint32(binary.BigEndian.Uint16(packet[4:]))+header6 <= mtu {
			return nil, false
		}
		return append(frame, tooBig6(packet, from, mtu)...), true
	}
	return nil, false
}

func tooBig4(packet []byte, from netip.Addr, mtu uint32) []byte {
	const fragmentationNeeded = 4
	quoted := packet[:min(len(packet), most4-header4-headerICMP)]
	message := marshal(icmp.Message{
		Type: ipv4.ICMPTypeDestinationUnreachable, Code: fragmentationNeeded,
		Body: &icmp.RawBody{Data: append(binary.BigEndian.AppendUint32(nil, mtu), quoted...)},
	}, nil)
	out := []byte{ipv4.Version<<4 | header4/4, networkControl, 0, 0, 0, 0, dontFragment, 0, hopLimit, unix.IPPROTO_ICMP, 0, 0}
	binary.BigEndian.PutUint16(out[2:], uint16(header4+len(message)))
	out = append(append(out, from.AsSlice()...), packet[12:16]...)
	binary.BigEndian.PutUint16(out[10:], checksum(out))
	return append(out, message...)
}

func tooBig6(packet []byte, from netip.Addr, mtu uint32) []byte {
	to := packet[8:24]
	message := marshal(icmp.Message{
		Type: ipv6.ICMPTypePacketTooBig,
		Body: &icmp.PacketTooBig{MTU: int(mtu), Data: packet[:min(len(packet), most6-header6-headerICMP)]},
	}, icmp.IPv6PseudoHeader(from.AsSlice(), to))
	out := []byte{ipv6.Version << 4, 0, 0, 0, 0, 0, unix.IPPROTO_ICMPV6, hopLimit}
	binary.BigEndian.PutUint16(out[4:], uint16(len(message)))
	return append(append(append(out, from.AsSlice()...), to...), message...)
}

// marshal fails for no message of these kinds.
func marshal(m icmp.Message, pseudoHeader []byte) []byte {
	text, err := m.Marshal(pseudoHeader)
	if err != nil {
		panic(err)
	}
	return text
}
