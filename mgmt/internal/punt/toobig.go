// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

const (
	leastMTU4 = 68   // RFC 791
	leastMTU6 = 1280 // RFC 8200, 5; no host sends less for a message that says so (RFC 8201, 4)
)

// TooBig is the frame that tells the sender of a packet that it is longer than `mtu`: ICMP type 3
// code 4 with the MTU (RFC 1191, 4), or ICMPv6 Packet Too Big (RFC 4443, 3.2).
//
// It is false if [Answer] is, or the packet may be fragmented, or fits the MTU. Over IPv6 the
// MTU is at least 1280.
func TooBig(head, packet []byte, from netip.Addr, mtu uint32) (frame []byte, ok bool) {
	const fragmentationNeeded = 4
	if len(packet) < header4 {
		return nil, false
	}
	if packet[0]>>4 == ipv4.Version {
		length := uint32(binary.BigEndian.Uint16(packet[2:]))
		if mtu = max(mtu, leastMTU4); length <= mtu || packet[6]&dontFragment == 0 {
			return nil, false
		}
	} else if mtu = max(mtu, leastMTU6); uint32(binary.BigEndian.Uint16(packet[4:]))+header6 <= mtu {
		return nil, false
	}
	fault := Fault{type4: ipv4.ICMPTypeDestinationUnreachable, code4: fragmentationNeeded, type6: ipv6.ICMPTypePacketTooBig, word: mtu}
	return Answer(head, packet, from, fault)
}
