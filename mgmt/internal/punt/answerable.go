// SPDX-License-Identifier: Apache-2.0

package punt

import "sallyport/mgmt/internal/xfrm"

// Messages of ICMP that are no errors. All of ICMPv6 below 128 are (RFC 4443, 2.1).
var noErrors = map[uint16]bool{0: true, 8: true, 9: true, 10: true, 13: true, 14: true, 15: true, 16: true, 17: true, 18: true}

const firstV6Information = 128

// redirectV6 is one about which no error is told (RFC 4443, 2.4 e.2).
const redirectV6 = 137

// Answerable reports whether an ICMP error may answer a packet. It may not answer multicast, a
// packet from a group address or from none of a single host, or an ICMP error or redirect (RFC
// 1122, 3.2.2; RFC 1812, 4.3.2.7; RFC 4443, 2.4 e). With `tooBig` the error is Packet Too Big,
// which may answer IPv6 multicast (RFC 4443, 2.4 e.3).
func Answerable(packet xfrm.Selector, tooBig bool) bool {
	const icmp, icmpV6 = 1, 58
	src, dst := packet.Src.Addr(), packet.Dst.Addr()
	switch {
	// 0.0.0.0/8, class E, and a broadcast
	case !src.IsGlobalUnicast() || src.Is4() && (src.As4()[0] == 0 || src.As4()[0] >= 240):
		return false
	case dst.Is4() && (dst.IsMulticast() || dst.As4()[0] >= 240), dst.IsMulticast() && !tooBig:
		return false
	case packet.Proto == icmp:
		return packet.Type.Given && noErrors[packet.Type.First]
	case packet.Proto == icmpV6:
		return packet.Type.Given && packet.Type.First >= firstV6Information && packet.Type.First != redirectV6
	}
	return true
}
